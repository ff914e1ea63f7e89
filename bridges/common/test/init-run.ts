import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { startProgram, type Program } from "../../../test/harness/program";
import { TOKENS } from "../../../test/harness/processes";
import type { Service } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";

const SCRIPTS = join(__dirname, "../..");

/** Returns the environment variables with which `init` can create a workspace. */
export const operatorOf = (service: Pick<Service, "core" | "url">) => ({
  CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
  CORE_TOKEN: TOKENS.operator,
  BASE_URL: service.url,
});

/** Starts the command `init` of a bridge without a terminal. */
export function startInit(
  name: "irc" | "matrix" | "xmpp",
  folder: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const program = startProgram([process.execPath, scriptOf(name), "init", ...args], {
    cwd: folder,
    environment: { ...environment },
  });
  program.end();
  return program;
}

/** Starts the command `init` of a bridge in a terminal. */
export function startInitInTerminal(
  name: "irc" | "matrix" | "xmpp",
  folder: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const command = `'${process.execPath}' '${scriptOf(name)}' init`;
  const program = startProgram(["script", "-qefc", command, "/dev/null"], {
    cwd: folder,
    environment: { TERM: "xterm", ...environment },
  });
  let read = 0;
  return {
    program,
    /** Waits for a question that contains `words`, and types the answer. */
    async answer(words: string, answer: string): Promise<void> {
      await until(`init asks: ${words}; it printed ${program.output().slice(read)}`, () => {
        const at = program.output().indexOf(words, read);
        if (at === -1 || !/[:\]] $|\] \S*$/.test(visible(program.output().slice(at)))) return false;
        read = program.output().length;
        return true;
      });
      program.type(answer);
    },
  };
}

/** Returns a terminal's output without control sequences. */
export const visible = (output: string): string => stripVTControlCharacters(output);

/** Starts a bridge with the command that `init` printed as its last line. */
export function startPrinted(
  folder: string,
  init: Program,
  environment: Readonly<Record<string, string>> = {},
) {
  const line = visible(init.output()).trimEnd().split(/\r?\n/).at(-1)?.trim() ?? "";
  expect(line).toContain("--config");
  return startProgram(["sh", "-c", `exec ${line}`], { cwd: folder, environment: { ...environment } });
}

const scriptOf = (name: string): string => join(SCRIPTS, name, `chat-bridge-${name}.mjs`);
