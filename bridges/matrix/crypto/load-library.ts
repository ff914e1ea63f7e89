import type * as Library from "@matrix-org/matrix-sdk-crypto-wasm" with { "resolution-mode": "import" };
import type { IndexedDb } from "./indexed-db";

export type CryptoLibrary = typeof Library;

export interface LoadedCrypto {
  readonly sdk: CryptoLibrary;
  readonly db: IndexedDb;
}

/** Loads the optional packages. If a package is missing, rejects with an error that says what to install. */
export async function loadCrypto(): Promise<LoadedCrypto> {
  try {
    const { default: _, ...db } = await import("fake-indexeddb");
    // The library looks for IndexedDB among the globals.
    Object.assign(globalThis, db);
    const sdk = await import("@matrix-org/matrix-sdk-crypto-wasm");
    await sdk.initAsync();
    return { sdk, db: db as unknown as IndexedDb };
  } catch (error) {
    const { message } = error as Error;
    throw new Error(
      `cannot load the encryption (${message}): install the optional packages, or set MATRIX_ENCRYPTION=off`,
      { cause: error },
    );
  }
}
