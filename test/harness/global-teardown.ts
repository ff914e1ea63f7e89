/** Removes the packed kits, and stops the shared services and browsers, after all tests. */
export default async function tidyUp(): Promise<void> {
  globalThis.sharedKit?.close();
  globalThis.sharedGameKit?.close();
  await Promise.all([globalThis.sharedServices?.close(), globalThis.sharedBrowsers?.close()]);
}
