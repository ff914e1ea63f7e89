/** Decides which URLs events may be pushed to. */
export interface TargetUrlCheck {
  /** Returns why events may not be pushed to the URL, as text for its owner; undefined when they may. */
  findFault(url: string): Promise<string | undefined>;
}
