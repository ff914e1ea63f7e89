import {
  OPERATOR_EVENT_SECONDS,
  OPERATOR_EVENTS_MAX,
  OPERATOR_EVENTS_WORKSPACE_MAX,
  renderOperatorEvent,
} from "../domain/operator-event";
import { isOver as isRestOver, nextRest, type Rest } from "./growing-rest";
import type { Lease } from "../leases/lease";
import type { Clock, OperatorReceiver, OperatorReceivers, OperatorSent } from "../ports/outside";
import { StoreUnavailable } from "../ports/store-faults";
import type { OperatorOutbox, StoredOperatorEvent } from "../ports/operator-outbox";
import type { Workspaces } from "../ports/workspaces";

export interface OperatorSenderContext {
  readonly now: Clock;
  readonly operatorOutbox: OperatorOutbox;
  readonly workspaces: Workspaces;
  readonly operatorReceivers: OperatorReceivers;
  /** Called after each attempt to deliver an event. */
  onOperatorEventSent(event: StoredOperatorEvent, receiver: OperatorReceiver, sent: OperatorSent): void;
  report(where: string, error: unknown): void;
}

/** The events that wait for one receiver, oldest first. */
interface Queue {
  readonly events: Waiting[];
  isSending: boolean;
  /** The pause after a failed attempt, in which core does not send events to the receiver. */
  rest: Rest | undefined;
}

/** An event of the outbox, and the number of receivers that have not accepted the event yet. */
interface Waiting {
  readonly event: StoredOperatorEvent;
  left: number;
}

/** The name of a workspace, and the receivers of its events. */
interface Addressees {
  readonly name: string;
  readonly receivers: readonly OperatorReceiver[];
}

/**
 * Delivers the operator events of a shard. Each receiver gets its events in order, one at a time, and an event is
 * repeated with the same id until the receiver accepts it. After a failure, core waits for a growing pause before it
 * retries the receiver. Other receivers are not delayed. An event leaves the outbox when all receivers of the event
 * have accepted it.
 */
export class OperatorSender {
  readonly #context: OperatorSenderContext;
  readonly #lease: Lease;
  #queues = new Map<string, Queue>();
  /** The entry id of the last event that was read from the outbox. */
  #read: string | undefined;
  /** Number of events in memory. */
  #waiting = 0;
  #isLooking = false;

  constructor(context: OperatorSenderContext, lease: Lease) {
    this.#context = context;
    this.#lease = lease;
  }

  /**
   * Begins to send the events that are due, and returns immediately. Must be called repeatedly as long as the outbox
   * contains events.
   */
  look(): void {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    void this.#lookOnce().finally(() => (this.#isLooking = false));
  }

  get #isStopped(): boolean {
    return this.#lease.stopping.aborted || this.#lease.isOver();
  }

  async #lookOnce(): Promise<void> {
    try {
      await this.#readNew();
    } catch (error) {
      this.#startOver();
      if (!(error instanceof StoreUnavailable)) this.#context.report("operator event", error);
    }
    for (const [key, queue] of this.#queues) {
      if (!queue.isSending && isRestOver(queue.rest)) void this.#drain(key, queue);
    }
  }

  async #readNew(): Promise<void> {
    for (;;) {
      const events = await this.#context.operatorOutbox.read(this.#lease.shard, this.#read);
      for (const event of events) {
        await this.#enqueue(event);
        this.#read = event.entryId;
      }
      // If memory contains more events than the outbox can hold, the outbox has dropped some of these events.
      if (this.#waiting > OPERATOR_EVENTS_MAX) this.#startOver();
      if (events.length === 0) return;
    }
  }

  async #enqueue(event: StoredOperatorEvent): Promise<void> {
    const { receivers } = await this.#readAddressees(event.workspaceId);
    if (receivers.length === 0) return this.#context.operatorOutbox.remove(this.#lease.shard, event);
    const entry = { event, left: receivers.length };
    this.#waiting += 1;
    for (const { key } of receivers) {
      const queue = this.#queues.get(key) ?? { events: [], isSending: false, rest: undefined };
      queue.events.push(entry);
      this.#queues.set(key, queue);
      if (key === event.workspaceId) this.#forgetDropped(queue);
    }
  }

  /**
   * Removes the events that the outbox has dropped because the workspace exceeded its share, except an event that is
   * being sent.
   */
  #forgetDropped({ events, isSending }: Queue): void {
    if (events.length <= OPERATOR_EVENTS_WORKSPACE_MAX) return;
    const [dropped] = events.splice(isSending ? 1 : 0, 1);
    if (dropped === undefined) return;
    dropped.left -= 1;
    if (dropped.left === 0) this.#waiting -= 1;
  }

  /** Sends events to a receiver until an attempt fails or no event is left. */
  async #drain(key: string, queue: Queue): Promise<void> {
    queue.isSending = true;
    try {
      for (let [entry] = queue.events; entry !== undefined && !this.#isStopped; [entry] = queue.events) {
        const isDone = await this.#sendTo(key, entry.event);
        if (this.#queues.get(key) !== queue) return;
        if (!isDone) {
          queue.rest = nextRest(queue.rest);
          return;
        }
        queue.rest = undefined;
        queue.events.shift();
        entry.left -= 1;
        if (entry.left === 0) {
          this.#waiting -= 1;
          await this.#context.operatorOutbox.remove(this.#lease.shard, entry.event);
        }
      }
      if (queue.events.length === 0) this.#queues.delete(key);
    } catch (error) {
      if (this.#queues.get(key) === queue) this.#startOver();
      if (!(error instanceof StoreUnavailable)) this.#context.report("operator event", error);
    } finally {
      queue.isSending = false;
    }
  }

  /** Sends the event to the receiver. Returns false if another attempt is needed. */
  async #sendTo(key: string, event: StoredOperatorEvent): Promise<boolean> {
    if (event.atMs < this.#context.now() - OPERATOR_EVENT_SECONDS * 1_000) return true;
    const { name, receivers } = await this.#readAddressees(event.workspaceId);
    // The address may have changed since the event was read.
    const receiver = receivers.find((each) => each.key === key);
    if (receiver === undefined) return true;
    const send = async (): Promise<boolean> => {
      if (this.#isStopped) return false;
      const sent = await receiver.send(renderOperatorEvent(event, { name }));
      this.#context.onOperatorEventSent(event, receiver, sent);
      return sent.became !== "failed";
    };
    return receiver.inTurn(send);
  }

  /** Returns an empty list of receivers if the workspace was deleted. */
  async #readAddressees(id: string): Promise<Addressees> {
    const { ofInstallation, ofWorkspace } = this.#context.operatorReceivers;
    try {
      const workspace = (await this.#context.workspaces.read(id))?.workspace;
      if (workspace === undefined) return { name: "", receivers: [] };
      const own = ofWorkspace(workspace);
      return {
        name: workspace.name,
        receivers: own === undefined ? ofInstallation : [...ofInstallation, own],
      };
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // The workspace's record cannot be read, e.g. because the record is damaged.
      this.#context.report("operator event", error);
      return { name: "", receivers: ofInstallation };
    }
  }

  /** Forgets all events that are in memory. The next `look` reads the outbox from its beginning. */
  #startOver(): void {
    this.#queues = new Map();
    this.#read = undefined;
    this.#waiting = 0;
  }
}
