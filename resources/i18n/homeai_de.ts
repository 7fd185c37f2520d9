<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
    <context>
        <name>ChatStream</name>
        <message>
            <source>The connection broke before the answer was complete.</source>
            <translation>Die Verbindung brach ab, bevor die Antwort vollständig war.</translation>
        </message>
    </context>
    <context>
        <name>ChatWindow</name>
        <message>
            <source>Conversation</source>
            <translation>Unterhaltung</translation>
        </message>
        <message>
            <source>Your message</source>
            <translation>Ihre Nachricht</translation>
        </message>
        <message>
            <source>Write a message. Enter sends it.</source>
            <translation>Nachricht schreiben. Enter sendet sie.</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <source>Stop</source>
            <translation>Anhalten</translation>
        </message>
        <message>
            <source>New conversation</source>
            <translation>Neue Unterhaltung</translation>
        </message>
        <message>
            <source>You</source>
            <translation>Sie</translation>
        </message>
        <message>
            <source>Answer</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <source>Stopped.</source>
            <translation>Angehalten.</translation>
        </message>
    </context>
    <context>
        <name>MessageView</name>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Copy this message</source>
            <translation>Diese Nachricht kopieren</translation>
        </message>
    </context>
    <context>
        <name>Tray</name>
        <message>
            <source>Open chat</source>
            <translation>Chat öffnen</translation>
        </message>
        <message>
            <source>Copy address</source>
            <translation>Adresse kopieren</translation>
        </message>
        <message>
            <source>Quit</source>
            <translation>Beenden</translation>
        </message>
    </context>
    <context>
        <name>Words</name>
        <message>
            <source>The service is not running</source>
            <translation>Der Dienst läuft nicht</translation>
        </message>
        <message>
            <source>Starting…</source>
            <translation>Startet …</translation>
        </message>
        <message>
            <source>Loading the model: {percent} %</source>
            <translation>Modell wird geladen: {percent} %</translation>
        </message>
        <message>
            <source>Degraded: CPU · {model}</source>
            <translation>Eingeschränkt: CPU · {model}</translation>
        </message>
        <message>
            <source>Answering · {model}</source>
            <translation>Antwortet · {model}</translation>
        </message>
        <message>
            <source>Ready · {model}</source>
            <translation>Bereit · {model}</translation>
        </message>
        <message>
            <source>{model} is a tiny starter model: quick to try, but often wrong. Add a larger one with “homeai models add”.</source>
            <translation>{model} ist ein winziges Startmodell: schnell ausprobiert, aber oft falsch. Ein größeres fügen Sie mit „homeai models add“ hinzu.</translation>
        </message>
        <message>
            <source>Waiting: next in line</source>
            <translation>Wartet: als Nächstes an der Reihe</translation>
        </message>
        <message>
            <source>Waiting: {number} ahead</source>
            <translation>Wartet: {number} davor</translation>
        </message>
        <message>
            <source>The engine failed; it starts again and goes on.</source>
            <translation>Die Engine ist ausgefallen; sie startet neu und macht weiter.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on.</source>
            <translation>Die GPU ist ausgefallen; die CPU macht weiter.</translation>
        </message>
        <message>
            <source>The engine failed; it starts again, goes on and needs about {seconds} s.</source>
            <translation>Die Engine ist ausgefallen; sie startet neu, macht weiter und braucht etwa {seconds} s.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on and needs about {seconds} s.</source>
            <translation>Die GPU ist ausgefallen; die CPU macht weiter und braucht etwa {seconds} s.</translation>
        </message>
        <message>
            <source>on the GPU</source>
            <translation>auf der GPU</translation>
        </message>
        <message>
            <source>on the CPU</source>
            <translation>auf der CPU</translation>
        </message>
        <message>
            <source>on the CPU, since the GPU failed</source>
            <translation>auf der CPU, weil die GPU ausgefallen ist</translation>
        </message>
        <message>
            <source>{where}, {speed} tokens per second</source>
            <translation>{where}, {speed} Token pro Sekunde</translation>
        </message>
    </context>
</TS>
