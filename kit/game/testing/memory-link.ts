import type { OutboundEvent, PublishResult } from "../../../proto/gen/chatbridge/v1/game";
import { LinkClosed, type CoreLink, type FollowListener } from "../core-link";
import { CoreUnavailable, type MemoryCore, type MemoryStream, type Send } from "./memory-core";

export interface MemoryLinkOptions {
  readonly group: string;
  readonly consumer: string;
  /** The default is 100. */
  readonly window?: number | undefined;
  /** The default is 30,000. */
  readonly ackDeadlineMs?: number | undefined;
}

/** A link to a core in memory. It opens a new stream as soon as a stream has been lost. */
export class MemoryLink implements CoreLink {
  readonly #core: MemoryCore;
  readonly #options: MemoryLinkOptions;
  #listener: FollowListener | undefined;
  #stream: MemoryStream | undefined;
  #isPaused = false;
  #isClosed = false;
  /** Called by `kill`. */
  readonly #closers = new Set<() => void>();

  constructor(core: MemoryCore, options: MemoryLinkOptions) {
    this.#core = core;
    this.#options = options;
  }

  follow(listener: FollowListener): void {
    this.#listener = listener;
    this.#open();
  }

  ack(deliveryIds: readonly string[]): void {
    this.#stream?.ack(deliveryIds);
  }

  extend(deliveryIds: readonly string[]): void {
    this.#stream?.extend(deliveryIds);
  }

  nack(deliveryIds: readonly string[], delayMs: number): void {
    this.#stream?.nack(deliveryIds, delayMs);
  }

  deadLetter(deliveryId: string, reason: string): void {
    this.#stream?.deadLetter(deliveryId, reason);
  }

  async publish(events: readonly OutboundEvent[]): Promise<readonly PublishResult[]> {
    // A real call takes time, and the game can be killed in this time.
    await Promise.resolve();
    for (;;) {
      if (this.#isClosed) throw new LinkClosed();
      try {
        return this.#core.publish(events);
      } catch (error) {
        if (!(error instanceof CoreUnavailable)) throw error;
      }
      await this.#availableOrClosed();
    }
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  async close(): Promise<void> {
    this.kill();
  }

  /** Closes the link synchronously, as if the process had been killed: no later call reaches core. */
  kill(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const run of this.#closers) run();
    this.#stream?.close();
    this.#end();
  }

  #open(): void {
    if (this.#isClosed || this.#isPaused) return;
    const { group, consumer, window = 100, ackDeadlineMs = 30_000 } = this.#options;
    // Core sends the first responses before it returns the stream. The responses are kept until the stream is known,
    // because the listener can ack a delivery at once.
    const heard: Parameters<Send>[0][] = [];
    let stream: MemoryStream | undefined;
    let isHearing = false;
    const hearAll = (): void => {
      if (stream === undefined || isHearing) return;
      isHearing = true;
      for (let say = heard.shift(); say; say = heard.shift()) this.#hear(say, stream);
      isHearing = false;
    };
    stream = this.#core.openStream(
      { group, consumer, window, ackDeadlineMs, assignments: true },
      (say) => {
        heard.push(say);
        hearAll();
      },
      (code) => {
        if (this.#stream !== stream) return;
        this.#end();
        // Another process with the same name has replaced this one. If both processes opened new streams, they would
        // replace each other again and again.
        if (code !== "ABORTED") queueMicrotask(() => this.#open());
      },
    );
    this.#stream = stream;
    hearAll();
  }

  #hear(say: Parameters<Send>[0], stream: MemoryStream): void {
    const listener = this.#listener;
    if (listener === undefined || this.#stream !== stream) return;
    switch (say.$case) {
      case "opened":
        return listener.opened(say.value);
      case "delivery":
        return listener.delivered(say.value);
      case "assignment":
        if (say.value.lost.length > 0) listener.lost(say.value.lost);
        if (say.value.gained.length > 0) listener.gained(say.value.gained);
    }
  }

  #end(): void {
    if (this.#stream === undefined) return;
    this.#stream = undefined;
    this.#listener?.ended();
  }

  async #availableOrClosed(): Promise<void> {
    let run: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => (run = resolve));
    if (run) this.#closers.add(run);
    await Promise.race([this.#core.available(), closed]);
    if (run) this.#closers.delete(run);
  }
}
