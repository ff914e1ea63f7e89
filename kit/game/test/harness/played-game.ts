/**
 * A game that records the words of commands in its state and shows them. Its process follows with a short ack deadline.
 *
 * - `note <id>` shows `<id> <number>`, where the number counts the notes of the workspace.
 * - `slow <id>` does the same with two messages, but first prints `handling <id>` and waits for a file of the name `<id>`
 *   in the folder RELEASED.
 * - `later <id>` does the same as `note`, and shows `ring <id>` 2 seconds later.
 *
 * It prints `following` whenever a stream opens, and `stale <count>` when core has refused events as stale.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createGame } from "../../game";
import { GameRun } from "../../game-run";
import { fileStore } from "../../file-store";
import { GrpcLink } from "../../grpc-link";

const { ADDRESS = "", TOKEN = "", GROUP = "", CONSUMER = "", FOLDER = "", RELEASED = "" } = process.env;

const game = createGame<string[]>({ name: "notes", state: () => [] });
const ring = game.timer<string>("ring", (turn, id) => void turn.reply(`ring ${id}`));
game.command("note", "notes", (turn, [id = ""]) => {
  turn.state.push(id);
  turn.reply(`${id} ${turn.state.length}`);
});
game.command("later", "rings later", (turn, [id = ""]) => {
  turn.state.push(id);
  turn.reply(`${id} ${turn.state.length}`);
  turn.after("2 s", ring(id));
});
game.command("slow", "waits", async (turn, [id = ""]) => {
  print(`handling ${id}`);
  while (!existsSync(join(RELEASED, id))) await sleep(20);
  turn.state.push(id);
  turn.reply(`${id} ${turn.state.length}`);
  turn.reply(`${id} again ${turn.state.length}`);
});

const log = {
  info: (_fields: object, message: string) => print(message),
  warn: (fields: object, message: string) => print(`${message} ${JSON.stringify(fields)}`),
  error: (fields: object, message: string) => print(`${message} ${JSON.stringify(fields)}`),
};
const link = new GrpcLink({
  address: ADDRESS,
  token: TOKEN,
  tls: undefined,
  group: GROUP,
  consumer: CONSUMER,
  log,
  ackDeadlineMs: 1_000,
});
const run = new GameRun(game, { link, store: fileStore(FOLDER), log, group: GROUP });
let stale = 0;
setInterval(() => {
  if (run.counts.stale === stale) return;
  stale = run.counts.stale;
  print(`stale ${stale}`);
}, 20).unref();
process.once("SIGTERM", () => void run.stop().then(() => process.exit(0)));
run.run();

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
