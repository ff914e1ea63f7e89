import type { ChatName } from "../start-settings";
import { IRC } from "./irc";
import type { LocalChat } from "./local-chat";
import { MATRIX } from "./matrix";
import { XMPP } from "./xmpp";

/** The chats that `npm start -- --with` can run. */
export const CHATS: Readonly<Record<ChatName, LocalChat>> = { irc: IRC, matrix: MATRIX, xmpp: XMPP };
