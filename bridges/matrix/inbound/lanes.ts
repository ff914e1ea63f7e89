/** A task of a lane. Tasks of one lane run one after another. */
export interface LaneTask {
  readonly lane: string;
  run(): Promise<void>;
}

/** Runs tasks, at most `lanesMax` lanes at the same time. Resolves when all tasks are done. Rejects if a task rejects. */
export async function runInLanes(tasks: readonly LaneTask[], lanesMax: number): Promise<void> {
  const byLane = new Map<string, LaneTask[]>();
  for (const task of tasks) byLane.set(task.lane, [...(byLane.get(task.lane) ?? []), task]);
  // The workers share one iterator, so each lane has one worker.
  const lanes = byLane.values();
  async function work(): Promise<void> {
    for (const lane of lanes) for (const task of lane) await task.run();
  }
  await Promise.all(Array.from({ length: lanesMax }, work));
}
