/** Limits how many tasks run at the same time. Further tasks wait in the order of their calls. */
export function createSlots(count: number) {
  const queue: (() => void)[] = [];
  let free = count;
  return {
    async run<T>(task: () => Promise<T>): Promise<T> {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => queue.push(resolve));
      try {
        return await task();
      } finally {
        const next = queue.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
