/** A signal that something has changed, for code that waits for a change. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  /** Resumes everything that waits. */
  notify(): void {
    for (const resume of this.#waiting) resume();
  }

  /** Resolves at the next change, or after `ms` milliseconds. */
  next(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const resume = () => {
        clearTimeout(timer);
        this.#waiting.delete(resume);
        resolve();
      };
      const timer = setTimeout(resume, ms);
      this.#waiting.add(resume);
    });
  }

  /** Resolves when a change makes `isDone` return true, or when `ms` milliseconds have passed. */
  async until(isDone: () => boolean, ms: number): Promise<void> {
    const endMs = performance.now() + ms;
    for (let leftMs = ms; !isDone() && leftMs > 0; leftMs = endMs - performance.now())
      await this.next(leftMs);
  }
}
