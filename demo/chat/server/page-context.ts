import type { InboundEvent } from "../../../bridge/inbound-event";
import type { SendResult } from "../../../bridge/sender";
import type { Room } from "../room/room";
import type { LinkMode, LinkState, StreamEvent } from "../shapes";
import type { WireLog } from "../wire/wire-log";

/** The parts of the chat that the page's server uses. */
export interface PageContext {
  readonly room: Room;
  readonly wire: WireLog;
  readonly link: {
    state(): LinkState;
    report(event: InboundEvent): Promise<SendResult>;
    setMode(mode: LinkMode): Promise<void>;
    setCut(isCut: boolean): Promise<void>;
    watch(look: (event: StreamEvent) => void): () => void;
  };
  /** Aborted when the chat stops; open streams then end. */
  readonly stopping: AbortSignal;
}
