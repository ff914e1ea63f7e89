/** Where pushes may go. */
export interface TargetUrlCheck {
  /** Why events may not be pushed to the URL, in words for its owner; undefined when they may. */
  findFault(url: string): Promise<string | undefined>;
}
