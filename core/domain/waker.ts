/** Wakes a waiting loop. If `wake` is called while no `wait` is pending, the next `wait` returns immediately. */
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
