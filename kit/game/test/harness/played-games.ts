import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { startProgram } from "../../../../test/harness/program";
import { TOKENS } from "../../../../test/harness/processes";
import { until } from "../../../../test/harness/wait";

export type PlayedGame = Awaited<ReturnType<typeof startPlayedGame>>;

/** Builds the game of `played-game.ts` in a folder. Returns its path. */
export function buildPlayedGame(folder: string): string {
  const program = join(folder, "played-game.js");
  const esbuild = join(dirname(require.resolve("esbuild/package.json")), "bin/esbuild");
  const options = ["--bundle", "--platform=node", "--log-level=error", `--outfile=${program}`];
  execFileSync(esbuild, [join(__dirname, "played-game.ts"), ...options]);
  return program;
}

export interface PlayedGameOptions {
  /** Port of core, or of a proxy in front of core. */
  readonly port: number;
  readonly group: string;
  readonly consumer: string;
  /** The folder of the store. */
  readonly folder: string;
  /** The folder with the names of the released slow events. */
  readonly released?: string;
}

/** Starts a process of the game. Resolves when it follows. */
export async function startPlayedGame(
  path: string,
  { port, group, consumer, folder, released = folder }: PlayedGameOptions,
) {
  const program = startProgram([process.execPath, path], {
    cwd: dirname(path),
    environment: {
      ADDRESS: `127.0.0.1:${port}`,
      TOKEN: TOKENS.game,
      GROUP: group,
      CONSUMER: consumer,
      FOLDER: folder,
      RELEASED: released,
    },
  });
  const prints = (line: string) =>
    until(`${consumer} prints "${line}"`, () => program.output().split("\n").includes(line));
  await prints("following");
  return { ...program, prints };
}
