"""A member of the tests: slixmpp, an XMPP client, which is controlled with lines of JSON."""

import asyncio
import json
import ssl
import sys

import slixmpp


def tell(**fields):
    print(json.dumps(fields), flush=True)


class Member(slixmpp.ClientXMPP):
    def __init__(self, jid, password):
        super().__init__(jid, password)
        for plugin in ("xep_0045", "xep_0199", "xep_0308"):
            self.register_plugin(plugin)
        self.add_event_handler("session_start", self.on_start)
        self.add_event_handler("message", self.on_message)
        self.add_event_handler("groupchat_subject", lambda message: tell(event="joined", room=message["from"].bare))
        self.add_event_handler("disconnected", self.on_disconnected)

    async def on_start(self, _event):
        self.send_presence()
        tell(event="online", jid=self.boundjid.full)

    def on_disconnected(self, _reason):
        tell(event="offline")
        asyncio.get_event_loop().call_later(0.3, self.connect, *self.address_args)

    def on_message(self, message):
        tell(
            event="message",
            type=message["type"],
            sender=message["from"].bare,
            nick=message["from"].resource,
            id=message["id"],
            body=message["body"],
            replaces=message["replace"]["id"] or None,
            isOld=message.xml.find("{urn:xmpp:delay}delay") is not None,
            error=message["error"]["condition"] if message["type"] == "error" else None,
        )

    async def obey(self, line):
        command = json.loads(line)
        room, nick = command.get("room"), command.get("nick")
        if command["do"] == "join":
            self.plugin["xep_0045"].join_muc(room, nick, maxhistory=command["history"], password=command["password"])
        elif command["do"] == "say":
            self.send_message(mto=room, mbody=command["text"], mtype="groupchat")
        elif command["do"] == "whisper":
            self.send_message(mto=command["to"], mbody=command["text"], mtype="chat")
        elif command["do"] == "raw":
            self.send_raw(command["xml"])
        elif command["do"] == "configure":
            await self.configure(room, command["values"])
        elif command["do"] == "ask":
            # The server handles stanzas in order.
            await self.plugin["xep_0199"].send_ping(room or self.boundjid.domain)
            tell(event="answered", token=command["token"])

    async def configure(self, room, values):
        form = await self.plugin["xep_0045"].get_room_config(room)
        fields = form.get_fields()
        for name, value in values.items():
            if f"muc#roomconfig_{name}" in fields:
                form.set_values({f"muc#roomconfig_{name}": value})
        form["type"] = "submit"
        await self.plugin["xep_0045"].set_room_config(room, form)
        tell(event="configured", room=room)


async def main():
    jid, password, port = sys.argv[1:]
    member = Member(jid, password)
    member.address_args = ("127.0.0.1", int(port))
    # Only the bridge checks the server's certificate.
    member.ssl_context.check_hostname = False
    member.ssl_context.verify_mode = ssl.CERT_NONE
    member.connect(*member.address_args)
    reader = asyncio.StreamReader()
    await asyncio.get_event_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        try:
            await member.obey(line)
        except Exception as error:  # the test reads the reason
            tell(event="failed", reason=repr(error), line=line.decode())


asyncio.get_event_loop().run_until_complete(main())
