import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv, stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import {
  parseGames,
  parseHost,
  parseMegabytes,
  parseSmtpUrl,
  standardDashboard,
  standardMegabytes,
} from "../../cli/setup/answers";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { startProgram } from "../harness/program";
import { until } from "../harness/wait";

const folder = testFolder();
const GB = 1_073_741_824;

test("a mail server's URL that setup accepts is read back from the settings file unchanged", () => {
  const urls = fc.tuple(fc.constantFrom("smtp", "smtps"), fc.string({ maxLength: 40 }), fc.domain());
  fc.assert(
    fc.property(urls, ([scheme, login, host]) => {
      const url = `${scheme}://${login}@${host}:587`;
      let accepted: string;
      try {
        accepted = parseSmtpUrl(url);
      } catch {
        return;
      }
      expect(parseEnv(`SMTP_URL='${accepted}'\nNEXT=1\n`)).toEqual({ SMTP_URL: accepted, NEXT: "1" });
    }),
  );
});

test("any text is either rejected, or parsed into names without characters that are special in a settings file or a proxy's configuration", () => {
  const orRejected = <T>(parse: (text: string) => T, text: string): T | undefined => {
    try {
      return parse(text);
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.domain(), fc.string({ unit: "grapheme" })), (text) => {
      expect(orRejected(parseHost, text) ?? "a.example").toMatch(/^[a-z0-9.-]{3,253}$/);
      for (const name of orRejected(parseGames, text) ?? []) expect(name).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    }),
  );
  fc.assert(
    fc.property(
      fc.domain(),
      (host) => parseHost(standardDashboard(host)) !== host || host.startsWith("dashboard."),
    ),
  );
});

test.each([
  ["512", 512],
  ["512mb", 512],
  ["2GB", 2_048],
])("the amount of memory %s is %d MB", (text, megabytes) => expect(parseMegabytes(text)).toBe(megabytes));

test.each([
  ["2 GB of memory and a disk of 20 GB", 2, 20, 512],
  ["24 GB of memory and a disk of 20 GB", 24, 20, 1_280],
  ["a tiny machine", 0.1, 1, 64],
])("the default memory of Redis fits %s", (_what, memory, disk, megabytes) => {
  expect(standardMegabytes(memory * GB, disk * GB)).toBe(megabytes);
});

test("in a terminal, setup asks again after an invalid answer, and does not show the URL of the mail server", async () => {
  const root = mkdtempSync(join(folder, "machine-"));
  const command = `'${process.execPath}' '${join(ROOT, "dist/cli/main.js")}' setup --root '${root}'`;
  const setup = startProgram(["script", "-qefc", command, "/dev/null"], {
    cwd: folder,
    environment: { TERM: "xterm" },
  });
  let read = 0;
  async function answer(words: string, line: string): Promise<void> {
    await until(`setup asks: ${words}; it printed ${setup.output().slice(read)}`, () => {
      const at = setup.output().indexOf(words, read);
      if (at < 0 || !stripVTControlCharacters(setup.output()).endsWith(": ")) return false;
      read = setup.output().length;
      return true;
    });
    setup.type(line);
  }
  await answer("Host name at which bridges", "https://wrong");
  await answer("is not a host name", "hooks.example.com");
  await answer("Host name of the dashboard [dashboard.example.com]", "");
  await answer("Proxy with TLS", "caddy");
  await answer("Certificates", "internal");
  await answer("URL of the mail server", "smtps://user:hidden-text@mail.example.com");
  await answer("Sender of emails [bridges@example.com]", "");
  await answer("Memory for the data of Redis", "128mb");
  await answer("Names of games", "trivia");
  expect(await setup.exited).toBe(0);
  expect(setup.output()).not.toContain("hidden-text");
  expect(readFileSync(join(root, "etc/chat-bridge/core.env"), "utf8")).toContain("hidden-text");
  expect(readFileSync(join(root, "etc/chat-bridge/Caddyfile"), "utf8")).toContain("\ttls internal\n");
});
