// src/game.ts: a member chooses a word in a direct message, and the others guess it
import { createGame, md, type Content, type MessageRef, type Turn } from "chat-bridge-game";

type Round = { word: string; hints: number; card: MessageRef; timer: string };
export const game = createGame({ name: "word", state: (): Record<string, Round> => ({}) });

game.command("start", "lets the others guess your word", (turn) => {
  turn.ask("Which word should they guess?", chosen(turn.channel), { to: turn.user.id });
});
const chosen = game.answer<string>("chosen", (turn, text, channel) => {
  if (turn.state[channel]) return turn.reply("Another word is being guessed. Try again later.");
  const word = text.trim().toLowerCase();
  const card = turn.post(channel, prompt(shown(word, 1)));
  turn.state[channel] = { word, hints: 1, card, timer: turn.after("60 s", timeUp(channel)) };
});
const shown = (word: string, hints: number): string =>
  md`Which word is **${[...word].map((letter, at) => (at < hints ? letter : "·")).join("")}**?`;
// Many bridges report what members type in a channel only while a message awaits a reply.
const prompt = (text: string): Content => ({ text, buttons: [[hint("Hint")]], awaitsReply: true });
const hint = game.action("hint", (turn) => {
  const round = turn.state[turn.channel];
  if (round) turn.update(prompt(shown(round.word, ++round.hints)), round.card);
});
const timeUp = game.timer<string>("time-up", (turn, channel) => end(turn, channel, "Nobody"));
game.message((turn, text) => {
  const word = text.trim().toLowerCase();
  if (turn.state[turn.channel]?.word === word) end(turn, turn.channel, turn.user.name);
});
function end(turn: Turn<Record<string, Round>>, channel: string, who: string) {
  const { word, card, timer } = turn.state[channel] as Round;
  turn.update({ kind: "game_end", text: md`**${who}** knew it: **${word}**` }, card);
  turn.cancel(timer);
  delete turn.state[channel];
}
