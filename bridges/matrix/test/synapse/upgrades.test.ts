import { create } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { MatrixMember } from "../harness/matrix-member";
import { startRig } from "../harness/matrix-rig";
import { card, startScene } from "../harness/scene";

const service = sharedService();
const scene = startScene(service);
const { says } = scene;

const upgrade = async (member: MatrixMember, room: string): Promise<string> => {
  const path = `rooms/${encodeURIComponent(room)}/upgrade`;
  return (await member.call<{ replacement_room: string }>("POST", path, { new_version: "11" }))
    .replacement_room;
};
const membership = (what: string, room: string, is: string, bridge = scene.rig.id) =>
  until(what, async () => (await scene.ann.membershipOf(room, bridge)) === is);

test("the bridge follows the upgrade of a public room, says so in both rooms, and plays in the new room", async () => {
  const { rig, ann } = scene;
  const room = await ann.createRoom({ name: "Quiz night", preset: "public_chat" }, rig.id);
  await membership("the bridge has joined", room, "join");
  await ann.promote(room, rig.id);
  const next = await upgrade(ann, room);
  await membership("the bridge has joined the new room", next, "join");
  await ann.sees(room, "the notice in the old room", says("a game in this room ends here"));
  await ann.sees(next, "the notice in the new room", says("To play, type !play."));
  await membership("the bridge has left the old room", room, "leave");
  await ann.say(next, "!play start");
  await rig.reports("a command", ({ channel, text }) => channel === next && text === "start");
  await rig.publish(create(next, card("In the new room")));
  await ann.sees(next, "a message", says("In the new room"));
});

test("if the bridge must be invited to the new room, it asks for an invite, and accepts it although the settings list only the old room", async () => {
  const { ann, synapse } = scene;
  const room = await ann.createRoom({ name: "Private" });
  const settings = { MATRIX_ALLOW_INVITES: room };
  const rig = await startRig(service, synapse, { account: "listed", settings });
  await ann.invite(room, rig.id);
  await membership("the bridge has joined", room, "join", rig.id);
  await ann.promote(room, rig.id);
  const next = await upgrade(ann, room);
  await ann.sees(room, "the request", ({ body }) => body.includes("Invite me to the new room"));
  await ann.invite(next, rig.id);
  await membership("the bridge has joined the new room", next, "join", rig.id);
  await ann.sees(next, "the notice in the new room", ({ body }) =>
    body.includes("This room replaces the old room"),
  );
  await rig.close();
});

test("the bridge does not stay in a room that does not name the old room as its predecessor", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  const trap = await ann.createRoom({ name: "Trap", preset: "public_chat" });
  await ann.setState(room, "m.room.tombstone", { body: "moved", replacement_room: trap });
  await rig.bridge.logs("left the room of an upgrade: it does not name the old room");
  await membership("the bridge has left", trap, "leave");
  expect(await ann.membershipOf(room, rig.id)).toBe("join");
});
