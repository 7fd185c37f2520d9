<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
    <context>
        <name>ChatStream</name>
        <message>
            <source>The connection broke before the answer was complete.</source>
            <translation>The connection broke before the answer was complete.</translation>
        </message>
    </context>
    <context>
        <name>ChatWindow</name>
        <message>
            <source>Conversation</source>
            <translation>Conversation</translation>
        </message>
        <message>
            <source>Your message</source>
            <translation>Your message</translation>
        </message>
        <message>
            <source>Write a message. Enter sends it.</source>
            <translation>Write a message. Enter sends it.</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Send</translation>
        </message>
        <message>
            <source>Stop</source>
            <translation>Stop</translation>
        </message>
        <message>
            <source>New conversation</source>
            <translation>New conversation</translation>
        </message>
        <message>
            <source>You</source>
            <translation>You</translation>
        </message>
        <message>
            <source>Answer</source>
            <translation>Answer</translation>
        </message>
        <message>
            <source>Stopped.</source>
            <translation>Stopped.</translation>
        </message>
    </context>
    <context>
        <name>MessageView</name>
        <message>
            <source>Copy</source>
            <translation>Copy</translation>
        </message>
        <message>
            <source>Copy this message</source>
            <translation>Copy this message</translation>
        </message>
    </context>
    <context>
        <name>Tray</name>
        <message>
            <source>Open chat</source>
            <translation>Open chat</translation>
        </message>
        <message>
            <source>Copy address</source>
            <translation>Copy address</translation>
        </message>
        <message>
            <source>Quit</source>
            <translation>Quit</translation>
        </message>
    </context>
    <context>
        <name>Words</name>
        <message>
            <source>The service is not running</source>
            <translation>The service is not running</translation>
        </message>
        <message>
            <source>Starting…</source>
            <translation>Starting…</translation>
        </message>
        <message>
            <source>Loading the model: {percent} %</source>
            <translation>Loading the model: {percent} %</translation>
        </message>
        <message>
            <source>Degraded: CPU · {model}</source>
            <translation>Degraded: CPU · {model}</translation>
        </message>
        <message>
            <source>Answering · {model}</source>
            <translation>Answering · {model}</translation>
        </message>
        <message>
            <source>Ready · {model}</source>
            <translation>Ready · {model}</translation>
        </message>
        <message>
            <source>{model} is a tiny starter model: quick to try, but often wrong. Add a larger one with “homeai models add”.</source>
            <translation>{model} is a tiny starter model: quick to try, but often wrong. Add a larger one with “homeai models add”.</translation>
        </message>
        <message>
            <source>Waiting: next in line</source>
            <translation>Waiting: next in line</translation>
        </message>
        <message>
            <source>Waiting: {number} ahead</source>
            <translation>Waiting: {number} ahead</translation>
        </message>
        <message>
            <source>The engine failed; it starts again and goes on.</source>
            <translation>The engine failed; it starts again and goes on.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on.</source>
            <translation>The GPU failed; the CPU goes on.</translation>
        </message>
        <message>
            <source>The engine failed; it starts again, goes on and needs about {seconds} s.</source>
            <translation>The engine failed; it starts again, goes on and needs about {seconds} s.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on and needs about {seconds} s.</source>
            <translation>The GPU failed; the CPU goes on and needs about {seconds} s.</translation>
        </message>
        <message>
            <source>on the GPU</source>
            <translation>on the GPU</translation>
        </message>
        <message>
            <source>on the CPU</source>
            <translation>on the CPU</translation>
        </message>
        <message>
            <source>on the CPU, since the GPU failed</source>
            <translation>on the CPU, since the GPU failed</translation>
        </message>
        <message>
            <source>{where}, {speed} tokens per second</source>
            <translation>{where}, {speed} tokens per second</translation>
        </message>
    </context>
</TS>
