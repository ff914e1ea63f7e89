import { dmChannel, type Bridge } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import type { TextEvent } from "irc-framework";
import type { Channels } from "../connection/channels";
import type { IrcSession } from "../connection/irc-connection";
import { accountLookup } from "../connection/member-events";
import type { Outbox } from "../connection/outbox";
import type { Members } from "../state/members";
import type { TypedLine } from "./typed-lines";

export interface MemberTextsOptions {
  readonly members: Members;
  readonly channels: Pick<Channels, "nameOf">;
  readonly outbox: Pick<Outbox, "control">;
  readonly bridge: Pick<Bridge, "shownIn">;
  readonly log: Logger;
  /** Reports a line to the service. */
  report(line: TypedLine): Promise<void>;
}

/** Age in milliseconds above which a line is ignored, because bouncers and servers replay old lines. */
const STALE_MS = 300_000;

/** Reads what members type, looks up their accounts, and reports the lines to the service. */
export class MemberTexts {
  readonly #options: MemberTextsOptions;
  readonly #reports = new Set<Promise<void>>();
  #lookUp: (nick: string) => Promise<void> = () => Promise.resolve();

  constructor(options: MemberTextsOptions) {
    this.#options = options;
  }

  /** Called for each connection. */
  up(session: IrcSession): void {
    const { members, outbox, log } = this.#options;
    this.#lookUp = accountLookup(session, members, outbox);
    session.client.on("privmsg", (event) => {
      const reported = this.#read(session, event)
        .catch((error: unknown) => log.error({ err: error }, "a line was not reported"))
        .finally(() => this.#reports.delete(reported));
      this.#reports.add(reported);
    });
  }

  /** Resolves when all texts that were read are reported. */
  async settled(): Promise<void> {
    while (this.#reports.size > 0) await Promise.all(this.#reports);
  }

  /** Asks the server for the account of a member. */
  lookUp(nick: string): Promise<void> {
    return this.#lookUp(nick);
  }

  async #read(session: IrcSession, event: TextEvent): Promise<void> {
    const { members, channels, bridge, report } = this.#options;
    const { nick, target, message: text, tags, time } = event;
    if (event.from_server || session.isOwn(nick)) return;
    if (time !== undefined && time < Date.now() - STALE_MS) return;
    const isDirect = session.isOwn(target);
    const name = isDirect ? undefined : channels.nameOf(session.lower(target));
    if (!isDirect && name === undefined) return;
    if (session.hasAccountTag) members.hasAccount(nick, event.account ?? false);
    else if (members.isUnknown(nick)) await this.#lookUp(nick);
    const channel = name === undefined ? undefined : { id: session.lower(name), name };
    const member = members.identityOf(nick);
    // Games may write to reported members, so a network service such as NickServ must not be reported. A private line
    // is therefore ignored unless its author is in a channel of the bridge, or a game has written to the author.
    const isPartner = members.isPresent(member.name) || bridge.shownIn(dmChannel(member.id)).length > 0;
    if (!isDirect || isPartner) await report({ member, channel, text, id: tags["msgid"] });
  }
}
