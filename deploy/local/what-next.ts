import { coloured, type Look } from "../../kit/terminal-colour";
import { reachable } from "./listen-addresses";
import type { RunningService } from "./running-service";

/** Additional values for the rows that `npm start` prints when the service is running. */
export interface WhatNext {
  /** Link to the dashboard, with which one person can sign in once. */
  readonly signIn: string;
  /** The value of DATA_DIR, if it is set. */
  readonly dataDir: string | undefined;
  /** Whether to print colour. */
  readonly hasColour: boolean;
}

const NAME_COLUMNS = 16;
/** Width of a common narrow terminal, in columns. */
const ROW_COLUMNS = 80;
const INDENT = "  ";
const MORE = "  prints tokens and commands to paste";

/**
 * Returns the rows that `npm start` prints when everything is running. The rows contain no secret and no token. The
 * last row, next to the cursor, contains the address of the chat.
 */
export function whatNext(
  { listen, hasChat, chats }: RunningService,
  { signIn, dataDir, hasColour }: WhatNext,
): string {
  const paint = (look: Look, text: string) => (hasColour ? coloured(look, text) : text);
  const row = (name: string, text: string) => `${INDENT}${paint("strong", name.padEnd(NAME_COLUMNS))}${text}`;
  const guides = `http://${reachable(listen.DASHBOARD_LISTEN)}/guides`;
  const more =
    dataDir === undefined ? "npm start -- --commands" : `DATA_DIR=${quoted(dataDir)} npm start -- --commands`;
  const isWide = INDENT.length + NAME_COLUMNS + more.length + MORE.length > ROW_COLUMNS;
  const play = `http://${reachable(listen.CHAT_LISTEN)}`;
  return [
    "",
    "The service is running. Ctrl-C stops it; its data is kept for the next start.",
    "",
    row("Write a bridge", paint("link", `${guides}/bridge-guide`)),
    row("Write a game", paint("link", `${guides}/game-service-guide`)),
    row("More", isWide ? more : more + MORE),
    row("Dashboard", "this link signs you in once, within an hour:"),
    INDENT + paint("link", signIn),
    ...chats.map(({ label, at, room }) =>
      row(`Play in ${label}`, `${paint("link", at)}  in ${room}: !play start`),
    ),
    ...(hasChat ? [row("Play", `${paint("link", play)}  (each tab is a player)`)] : []),
  ].join("\n");
}

/** Returns a path, quoted for a POSIX shell if necessary. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
