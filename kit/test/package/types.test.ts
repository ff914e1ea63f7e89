import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installTypeScripts, TYPESCRIPTS } from "../../../test/programs/npm";
import { packedKit } from "../harness/kit-package";

const PROJECT = join(__dirname, "../../..");
const kit = packedKit();
// `chat-bridge-kit/fastify-receiver` needs the types of Fastify.
symlinkSync(join(PROJECT, "node_modules/fastify"), join(kit.folder, "node_modules/fastify"));

const OWN = join(PROJECT, "node_modules/typescript/bin/tsc");
const { version: ownVersion } = JSON.parse(readFileSync(join(OWN, "../../package.json"), "utf8")) as {
  version: string;
};
const COMPILERS = [...TYPESCRIPTS, ownVersion].map((version) => ({ version }));
let paths: readonly string[];
beforeAll(async () => void (paths = [...(await installTypeScripts()), OWN]));

const { exports } = JSON.parse(
  readFileSync(join(kit.folder, "node_modules/chat-bridge-kit/package.json"), "utf8"),
) as { exports: Record<string, { types?: string }> };
const ENTRIES = Object.entries(exports)
  .filter(([, { types }]) => types !== undefined)
  .map(([entry]) => entry.replace(".", "chat-bridge-kit"));

/** Returns the code of a bridge that imports all `entries`, and uses types from some of them. */
function consumerOf(entries: readonly string[]): string {
  return `${entries.map((entry, index) => `import * as entry${index} from "${entry}";`).join("\n")}
import { createBridge, storeInMemory, type Bridge, type BridgeChat } from "chat-bridge-kit";
import type { Message, OutboundEvent } from "chat-bridge-kit/events";
import { toHtml, numberedChoices } from "chat-bridge-kit/render";
import { createSender, type SendResult } from "chat-bridge-kit/sender";

const message: Message = {
  ...{ id: "msg_1", kind: "text", text: "**a**", image: null, awaitsReply: false, data: null },
  buttons: [[{ label: "b", action: "c" }]],
};
const sender = createSender({ baseUrl: "http://127.0.0.1:1", workspaceId: "", secrets: ["d"] });
const send = (text: string): Promise<SendResult> => sender.send({ type: "command", channel: "e", user: { id: "f" }, text });
const channelOf = (event: OutboundEvent): string | undefined => ("channel" in event ? event.channel : undefined);
const chat: BridgeChat = {
  post: async (event) => event.channel,
  dm: async (event) => [event.user],
  update: async (event) => void event.chatMessageId,
};
const options = { baseUrl: "http://127.0.0.1:1", workspaceId: "00000000-0000-4000-8000-000000000000", secrets: "d" };
const bridge: Bridge = createBridge({ ...options, chat, store: storeInMemory() });
const [choice] = numberedChoices(message.buttons);
const isLong = () => choice?.number !== undefined && choice.action.length > 9;
// @ts-expect-error: an action button has no URL.
const hasUrl = () => choice?.number !== undefined && choice.url.length > 0;

const entries: readonly object[] = [${entries.map((_, index) => `entry${index}`).join(", ")}];
console.log(toHtml(message.text), typeof bridge.start, typeof send, typeof channelOf, typeof isLong, typeof hasUrl, entries.length);
`;
}

const folderOf = ({ version }: { readonly version: string }, [file]: readonly string[]): string =>
  join(kit.folder, `${version}-${file}`);

/** Compiles files with the option `strict`. All files contain the same source. Returns the compiler's output. */
function compile(
  tsc: (typeof COMPILERS)[number],
  source: string,
  files: readonly string[],
  options: object,
): string {
  const folder = folderOf(tsc, files);
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), source);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const types = { types: ["node"], typeRoots: [join(PROJECT, "node_modules/@types")], lib: ["es2022"] };
  const compilerOptions = { ...strict, ...types, target: "es2022", ...options };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  return spawnSync(process.execPath, [paths[COMPILERS.indexOf(tsc)] ?? "", "-p", folder], {
    encoding: "utf8",
  }).stdout;
}

describe.each(COMPILERS)("with TypeScript $version", (tsc) => {
  const expectRuns = (files: readonly string[], compiled: readonly string[], entries: readonly string[]) => {
    for (const name of compiled) {
      const path = join(folderOf(tsc, files), name);
      const printed = execFileSync(process.execPath, [path], { encoding: "utf8" });
      expect(printed).toBe(
        `<p><strong>a</strong></p> function function function function function ${entries.length}\n`,
      );
    }
  };

  test("the kit's types are valid for an ES module and a CommonJS module of Node, and each compiled module runs", () => {
    // Fastify's own types need TypeScript 5.4 and `esModuleInterop`.
    const entries = ENTRIES.filter((entry) => !entry.includes("fastify"));
    expect(entries.length).toBeGreaterThan(15);
    // One file is an ES module, and the other a CommonJS module. Both contain the same source, and are compiled in one
    // run.
    const files = ["bridge.mts", "bridge.cts"];
    expect(compile(tsc, consumerOf(entries), files, { module: "nodenext", skipLibCheck: false })).toBe("");
    expectRuns(files, ["bridge.mjs", "bridge.cjs"], entries);
  });

  test("with `skipLibCheck`, a program with `module: commonjs` can import the whole kit, and runs", () => {
    // TypeScript 7 cannot resolve modules as Node 10 did.
    const moduleResolution = Number.parseInt(tsc.version, 10) < 7 ? "node10" : "bundler";
    const options = { module: "commonjs", moduleResolution, skipLibCheck: true };
    expect(compile(tsc, consumerOf(ENTRIES), ["bridge.ts"], options)).toBe("");
    expectRuns(["bridge.ts"], ["bridge.js"], ENTRIES);
  });
});
