import { RetryLater } from "chat-bridge-kit";
import type { Element } from "ltx";
import { PendingSends } from "../rooms/pending-sends";
import { refusalOf, toChatError } from "../rooms/refusal";
import type { RoomLink } from "../rooms/room-messages";
import { pingRequest, privateMessage, type Outgoing } from "../stanzas";

const RETRY_MS = 1_000;

/** Sends direct messages to accounts. */
export class Accounts {
  readonly #link: RoomLink;
  readonly #server: string;
  readonly #pending = new PendingSends();

  /** @param server the domain of the bridge's account */
  constructor(link: RoomLink, server: string) {
    this.#link = link;
    this.#server = server;
  }

  /** Resolves when the bridge's server has accepted the message. */
  async send(message: Outgoing, signal: AbortSignal): Promise<void> {
    const send = async (): Promise<void> => {
      await this.#link.send(privateMessage(message, false));
      // The server handles stanzas in order, so its error for the message would arrive before the answer to this ping.
      this.#link.request(pingRequest(this.#server)).then(
        () => this.#pending.confirm(message.id),
        (error: object) => {
          if ("condition" in error) this.#pending.confirm(message.id);
          else this.#pending.refuse(message.id, new RetryLater(RETRY_MS, "the server did not answer"));
        },
      );
    };
    await this.#pending.send(message.id, send, signal);
  }

  /** Handles an error that the server returned for a message. */
  onError(stanza: Element): void {
    this.#pending.refuse(stanza.attrs["id"] ?? "", toChatError(refusalOf(stanza)));
  }
}
