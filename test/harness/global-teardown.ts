/** Stops the shared services after all tests. */
export default async function tidyUp(): Promise<void> {
  await globalThis.sharedServices?.close();
}
