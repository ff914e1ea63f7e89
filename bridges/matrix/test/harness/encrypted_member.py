"""A member of the homeserver with a client that encrypts: matrix-nio, which does not share code with the bridge.

The process reads one command per line from the standard input, as JSON: {"id": 1, "call": "say", "args": [...]}. It
writes one answer per line: {"id": 1, "result": ...} or {"id": 1, "error": "..."}.
"""

import asyncio
import json
import sys

from nio import (
    AsyncClient,
    AsyncClientConfig,
    InviteMemberEvent,
    MegolmEvent,
    RoomMessage,
    RoomMessagesError,
)
from nio.crypto import decrypt_attachment

SYNC_MS = 10_000


class Member:
    def __init__(self, url, user, password, store, device):
        config = AsyncClientConfig(store_sync_tokens=True, encryption_enabled=True)
        self.client = AsyncClient(url, user, device_id=device, store_path=store, config=config)
        self.password = password
        self.events = {}
        self.invites = []
        self.client.add_event_callback(self.on_event, (RoomMessage, MegolmEvent))
        self.client.add_event_callback(self.on_invite, InviteMemberEvent)

    async def on_event(self, room, event):
        source = event.source
        seen = {
            "event_id": event.event_id,
            "sender": event.sender,
            "type": source["type"],
            "content": source["content"],
            "isEncrypted": bool(getattr(event, "decrypted", False)),
            "isUndecryptable": isinstance(event, MegolmEvent),
        }
        self.events.setdefault(room.room_id, []).append(seen)

    async def on_invite(self, room, event):
        if event.state_key == self.client.user_id and event.membership == "invite":
            self.invites.append(room.room_id)

    async def start(self):
        await self.client.login(self.password)
        await self.client.sync(timeout=0, full_state=True)
        asyncio.ensure_future(self.client.sync_forever(timeout=SYNC_MS, full_state=False))
        await self.client.synced.wait()
        return self.client.device_id

    async def say(self, room, body, relation=None):
        content = {"msgtype": "m.text", "body": body}
        if relation is not None:
            content["m.relates_to"] = relation
        return await self.send(room, "m.room.message", content)

    async def react(self, room, event_id, key):
        relation = {"rel_type": "m.annotation", "event_id": event_id, "key": key}
        return await self.send(room, "m.reaction", {"m.relates_to": relation})

    async def send(self, room, type, content):
        answer = await self.client.room_send(room, type, content, ignore_unverified_devices=True)
        return answer.event_id

    async def knows(self, room):
        """Whether the client has read the state of a room, and how many members of the room it has read."""
        known = self.client.rooms.get(room)
        return None if known is None else {"isEncrypted": known.encrypted, "members": list(known.users)}

    async def join(self, room):
        await self.client.join(room)

    async def seen(self, room):
        return self.events.get(room, [])

    async def invited(self):
        return self.invites

    async def download(self, file):
        answer = await self.client.download(file["url"])
        data = decrypt_attachment(answer.body, file["key"]["k"], file["hashes"]["sha256"], file["iv"])
        return list(data[:8])

    async def devices_of(self, user):
        """The keys of the devices of a user, as the client has accepted them."""
        store = self.client.device_store
        return {device.id: device.ed25519 for device in store.active_user_devices(user)}


async def main():
    url, user, password, store, device = sys.argv[1:6]
    member = Member(url, user, password, store, device)
    reader = asyncio.StreamReader(limit=1024 * 1024)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        try:
            result = await getattr(member, command["call"])(*command["args"])
            answer = {"id": command["id"], "result": result}
        except Exception as error:  # The test fails with this error.
            answer = {"id": command["id"], "error": repr(error)}
        print(json.dumps(answer), flush=True)
    await member.client.close()


asyncio.run(main())
