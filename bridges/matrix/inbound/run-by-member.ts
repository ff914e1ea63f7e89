/** A task that reports an event of a member. */
export interface MemberTask {
  readonly member: string;
  run(): Promise<void>;
}

/**
 * Runs the tasks of each member one after another. The tasks of up to `membersMax` members run concurrently. Resolves
 * when all tasks are done. Rejects if a task rejects.
 */
export async function runByMember(tasks: readonly MemberTask[], membersMax: number): Promise<void> {
  const byMember = new Map<string, MemberTask[]>();
  for (const task of tasks) byMember.set(task.member, [...(byMember.get(task.member) ?? []), task]);
  // The workers share one iterator, so the tasks of a member are run by a single worker.
  const members = byMember.values();
  async function work(): Promise<void> {
    for (const ofMember of members) for (const task of ofMember) await task.run();
  }
  await Promise.all(Array.from({ length: membersMax }, work));
}
