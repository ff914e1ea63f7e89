import type { HostPort } from "../../../runtime/settings";
import type { RunningChat } from "../running-service";
import type { ChatPasswords } from "../settings-file";
import type { StartSettings } from "../start-settings";
import type { FindProgram } from "./find-program";

/** A chat that `npm start -- --with` can run: a server on this machine, and the bridge to this server. */
export interface LocalChat {
  /** Name of the chat in texts, such as "IRC". */
  readonly label: string;
  /** Whether the server has accounts, for which `npm start` chooses the passwords. */
  readonly hasAccounts: boolean;
  /**
   * Returns the command that runs the server, without its configuration. Throws StartFault with the command that
   * installs a missing server.
   */
  findServer(find: FindProgram, settings: Pick<StartSettings, "synapseVenv">): readonly string[];
  /**
   * Writes the configuration of the server into `parts.folder`, which exists. Resolves to the whole command that runs
   * the server.
   */
  configure(command: readonly string[], parts: ChatParts): Promise<readonly string[]>;
  /** Resolves to the reason why the server is not ready; undefined if it is ready. */
  whyNotReady(at: HostPort): Promise<string | undefined>;
  /** Creates the accounts and rooms that the server lacks; called when the server is ready. Throws StartFault. */
  prepare?(parts: ChatParts, signal: AbortSignal): Promise<void>;
  /**
   * Returns the settings with which the bridge connects to the server. An undefined setting is unset. `own` is the
   * environment of `npm start`.
   */
  bridgeSettings(parts: ChatParts, own: NodeJS.ProcessEnv): Readonly<Record<string, string | undefined>>;
  /** Returns the address and the room to print, and lines that say how to join the chat. */
  howToJoin(parts: ChatParts): Pick<RunningChat, "at" | "room" | "lines">;
}

/** Paths, addresses and passwords of a chat on this machine. */
export interface ChatParts {
  /** Absolute path of the folder for the chat's files. */
  readonly folder: string;
  /** IP address and port on which the server listens. */
  readonly listen: HostPort;
  /** Address at which this machine reaches the server. */
  readonly at: HostPort;
  readonly passwords: ChatPasswords;
  /** Addresses of the demo game's picture server, as CIDRs. */
  readonly pictures: string;
}

/** Name of the bridge's account, and of the room. */
export const BRIDGE_ACCOUNT = "games";
/** Names of the accounts that `npm start` creates for members. */
export const MEMBERS: readonly string[] = ["ada", "bob"];
