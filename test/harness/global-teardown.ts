/** After all tests: ends the shared services. */
export default async function tidyUp(): Promise<void> {
  await globalThis.sharedServices?.close();
}
