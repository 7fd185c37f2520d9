<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="pt_BR" sourcelanguage="en">
    <context>
        <name>ChatStream</name>
        <message>
            <source>The connection broke before the answer was complete.</source>
            <translation>A conexão caiu antes de a resposta estar completa.</translation>
        </message>
    </context>
    <context>
        <name>ChatWindow</name>
        <message>
            <source>Conversation</source>
            <translation>Conversa</translation>
        </message>
        <message>
            <source>Your message</source>
            <translation>Sua mensagem</translation>
        </message>
        <message>
            <source>Write a message. Enter sends it.</source>
            <translation>Escreva uma mensagem. Enter envia.</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Enviar</translation>
        </message>
        <message>
            <source>Stop</source>
            <translation>Parar</translation>
        </message>
        <message>
            <source>New conversation</source>
            <translation>Nova conversa</translation>
        </message>
        <message>
            <source>You</source>
            <translation>Você</translation>
        </message>
        <message>
            <source>Answer</source>
            <translation>Resposta</translation>
        </message>
        <message>
            <source>Stopped.</source>
            <translation>Parado.</translation>
        </message>
    </context>
    <context>
        <name>MessageView</name>
        <message>
            <source>Copy</source>
            <translation>Copiar</translation>
        </message>
        <message>
            <source>Copy this message</source>
            <translation>Copiar esta mensagem</translation>
        </message>
    </context>
    <context>
        <name>Tray</name>
        <message>
            <source>Open chat</source>
            <translation>Abrir conversa</translation>
        </message>
        <message>
            <source>Copy address</source>
            <translation>Copiar endereço</translation>
        </message>
        <message>
            <source>Quit</source>
            <translation>Sair</translation>
        </message>
    </context>
    <context>
        <name>Words</name>
        <message>
            <source>The service is not running</source>
            <translation>O serviço não está em execução</translation>
        </message>
        <message>
            <source>Starting…</source>
            <translation>Iniciando…</translation>
        </message>
        <message>
            <source>Loading the model: {percent} %</source>
            <translation>Carregando o modelo: {percent} %</translation>
        </message>
        <message>
            <source>Degraded: CPU · {model}</source>
            <translation>Degradado: CPU · {model}</translation>
        </message>
        <message>
            <source>Answering · {model}</source>
            <translation>Respondendo · {model}</translation>
        </message>
        <message>
            <source>Ready · {model}</source>
            <translation>Pronto · {model}</translation>
        </message>
        <message>
            <source>{model} is a tiny starter model: quick to try, but often wrong. Add a larger one with “homeai models add”.</source>
            <translation>{model} é um modelo inicial minúsculo: rápido de experimentar, mas erra com frequência. Adicione um maior com “homeai models add”.</translation>
        </message>
        <message>
            <source>Waiting: next in line</source>
            <translation>Aguardando: é o próximo da fila</translation>
        </message>
        <message>
            <source>Waiting: {number} ahead</source>
            <translation>Aguardando: {number} à frente</translation>
        </message>
        <message>
            <source>The engine failed; it starts again and goes on.</source>
            <translation>O mecanismo falhou; ele reinicia e continua.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on.</source>
            <translation>A GPU falhou; a CPU continua.</translation>
        </message>
        <message>
            <source>The engine failed; it starts again, goes on and needs about {seconds} s.</source>
            <translation>O mecanismo falhou; ele reinicia, continua e precisa de cerca de {seconds} s.</translation>
        </message>
        <message>
            <source>The GPU failed; the CPU goes on and needs about {seconds} s.</source>
            <translation>A GPU falhou; a CPU continua e precisa de cerca de {seconds} s.</translation>
        </message>
        <message>
            <source>on the GPU</source>
            <translation>na GPU</translation>
        </message>
        <message>
            <source>on the CPU</source>
            <translation>na CPU</translation>
        </message>
        <message>
            <source>on the CPU, since the GPU failed</source>
            <translation>na CPU, porque a GPU falhou</translation>
        </message>
        <message>
            <source>{where}, {speed} tokens per second</source>
            <translation>{where}, {speed} tokens por segundo</translation>
        </message>
    </context>
</TS>
