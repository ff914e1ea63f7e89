import { joinIrc } from "../../bridges/irc/test/harness/irc-member";
import { findIrcServer } from "../../deploy/local/irc";
import { findNgircd } from "../programs/apt";
import { fact, pathWith, start, stop } from "./npm-start";

test("a start with --with irc runs an IRC server, on which members play the demo's game", async () => {
  await findNgircd();
  const run = await start({ args: ["--with", "irc"] });
  const [host = "", port = ""] = fact(await run.ready(), "irc").split(":");
  const ada = await joinIrc({ host, port: Number(port), caPath: undefined }, "ada", "#games");
  ada.say("!play start 1");
  await ada.sees("Trivia!");
  ada.leave();
  await stop(run);
  const stops = run.printed().slice(run.printed().indexOf("· irc-bridge: stopping"));
  expect(stops).toMatch(/^· irc-bridge: stopping\n· irc-server: stopping\n· chat: stopping\n/);
});

test("a missing IRC server is reported with the command that installs it", () => {
  expect(() => findIrcServer([pathWith()])).toThrow("run sudo apt-get install ngircd");
});

test.each([
  [["--with", "carrier-pigeon"], "Unknown chat carrier-pigeon after --with: use irc\n"],
  [["--with"], "Option '--with <value>' argument missing\n"],
  [["--what"], "Unknown option '--what'"],
  [["word"], "Unexpected argument 'word'"],
])("the arguments %j are rejected", async (args, words) => {
  const run = await start({ args });
  expect(await run.exited).toBe(64);
  expect(run.printedErrors()).toContain(words);
  expect(run.printedErrors()).toContain("npm start -- --help lists the options.\n");
});
