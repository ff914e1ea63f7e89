/** Wakes a loop that waits. A `wake` while no `wait` is pending ends the next `wait` at once. */
export interface Waker {
  wake(): void;
  /** Resolves at the next `wake`, or after `ms`. */
  wait(ms: number): Promise<void>;
}

export function createWaker(): Waker {
  let isWoken = false;
  let endWait: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      endWait?.();
    },
    async wait(ms) {
      if (!isWoken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          endWait = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      endWait = undefined;
      isWoken = false;
    },
  };
}
