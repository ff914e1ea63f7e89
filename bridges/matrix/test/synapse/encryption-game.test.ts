import { startGame } from "../../../../test/harness/game-chat";
import type { TestProcess } from "../../../../test/harness/processes";
import { startService, type TestService } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import { startEncryptedMember, type EncryptedMember } from "../harness/encrypted-member";
import type { RoomMessage } from "../harness/fold-room";
import { startRig, type MatrixRig } from "../harness/matrix-rig";
import { PASSWORD, startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

/** A question ends when all members have answered, and at the latest after 60 seconds. */
const PACE = { ROUNDS: "2", QUESTION_SECONDS: "60", REVEAL_SECONDS: "3", LOBBY_SECONDS: "300" };

let synapse: TestSynapse;
let service: TestService;
let game: TestProcess;
let rig: MatrixRig;
const clients: EncryptedMember[] = [];

beforeAll(async () => {
  [synapse, service] = await Promise.all([startSynapse(), startService()]);
  game = await startGame(service.core.port, { FOLLOW_GROUP: "trivia-encrypted", ...PACE });
  const settings = {
    MATRIX_ENCRYPTION: "on",
    MATRIX_ACCESS_TOKEN: "",
    MATRIX_USER: "games",
    MATRIX_PASSWORD: PASSWORD,
  };
  rig = await startRig(service, synapse, { account: "games", settings });
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await rig?.close();
  await game?.stop();
  await service?.close();
  await synapse?.close();
});

const says = (words: RegExp) => (message: RoomMessage) =>
  message.sender === rig.id && words.test(message.body);

test("two members play a whole game in an encrypted room while the bridge is killed", async () => {
  const [eve, fay] = [await synapse.member("eve"), await synapse.member("fay")];
  const first = await startEncryptedMember(synapse, "eve", "EVE");
  const second = await startEncryptedMember(synapse, "fay", "FAY");
  clients.push(first, second);
  const encryption = {
    type: "m.room.encryption",
    state_key: "",
    content: { algorithm: "m.megolm.v1.aes-sha2" },
  };
  const room = await eve.createRoom({ initial_state: [encryption] }, rig.id, fay.id);
  await fay.join(room);
  await until("the bridge has joined", async () => (await eve.membershipOf(room, rig.id)) === "join");
  for (const client of clients) await client.knows(room, rig.id);
  await first.knows(room, fay.id);

  await first.say(room, "!play start");
  const lobby = await second.sees(room, "the lobby", says(/opens a game/));
  await second.react(room, lobby.eventId, "1️⃣");
  await first.sees(room, "both members in the lobby", says(/Players: .*(?:eve.*fay|fay.*eve)/));
  await first.react(room, lobby.eventId, "2️⃣");

  const question = await first.sees(room, "the first question", says(/Question 1 of 2/));
  await first.react(room, question.eventId, "1️⃣");
  await first.sees(room, "one answer", says(/1 of 2 have answered/));
  await rig.bridge.stop("SIGKILL");
  await second.say(room, "!2");
  await rig.restart();

  // The second question asks for a number, which members type.
  await second.sees(room, "the second question", says(/Question 2 of 2/));
  for (const client of clients) await client.say(room, "42");
  const board = await first.sees(room, "the final board", says(/Final board/));
  expect(board.body).toMatch(/eve/);
  expect(board.body).toMatch(/fay/);
  for (const client of clients) {
    const events = await client.events(room);
    expect(events.filter(({ isUndecryptable }) => isUndecryptable)).toEqual([]);
  }
  const stored = await eve.events(room);
  expect(JSON.stringify(stored)).not.toMatch(/Question|Final board|play start/);
  expect(rig.bridge.log.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
}, 180_000);
