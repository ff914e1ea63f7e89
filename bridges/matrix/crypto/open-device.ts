import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { OlmMachine } from "@matrix-org/matrix-sdk-crypto-wasm" with { "resolution-mode": "import" };
import type { Logger } from "chat-bridge-runner";
import { createKeyRequests, type KeyRequests, type KeysApi } from "./key-requests";
import { loadCrypto, type CryptoLibrary } from "./load-library";
import { SavedDatabase } from "./saved-database";

/** A device of the bridge, with its keys. */
export interface OpenDevice {
  readonly sdk: CryptoLibrary;
  readonly machine: OlmMachine;
  readonly requests: KeyRequests;
  /** Resolves once the keys so far would survive a crash. */
  save(): Promise<void>;
  /** Removes the oldest keys that are not needed any more: see `ROW_LIMITS`. */
  removeSurplus(): Promise<void>;
  /** Removes the file with the keys. */
  remove(): Promise<void>;
}

export interface OpenDeviceParts {
  readonly api: KeysApi;
  readonly userId: string;
  /** The bridge's state folder. */
  readonly folder: string;
  readonly log: Logger;
}

/** Reads the keys of a device from the state folder, or creates them. */
export async function openDevice(
  deviceId: string,
  { api, userId, folder, log }: OpenDeviceParts,
): Promise<OpenDevice> {
  const { sdk, db } = await loadCrypto();
  const path = join(folder, `keys-${deviceId.replaceAll(/\W/g, "_")}.jsonl`);
  const report = (problem: Error): void => log.warn({ err: problem }, "cannot compact the file of the keys");
  // The library adds the suffix `::matrix-sdk-crypto` to the name of its store.
  const saved = await SavedDatabase.open(db, { name: `${path}::matrix-sdk-crypto`, path, report });
  const store = await sdk.StoreHandle.open(path, undefined);
  const ids = [new sdk.UserId(userId), new sdk.DeviceId(deviceId)] as const;
  const machine = await sdk.OlmMachine.initFromStore(...ids, store, SILENT);
  // Requests for keys go to the account's other devices, but the bridge is the only device.
  machine.roomKeyRequestsEnabled = false;
  machine.roomKeyForwardingEnabled = false;
  await saved.saveShape();
  const save = (): Promise<void> => saved.save();
  const onRejected = (error: unknown): void => {
    log.warn({ problem: (error as Error).message }, "the homeserver rejected a request about keys");
  };
  return {
    sdk,
    machine,
    requests: createKeyRequests({ sdk, machine, api, save, onRejected }),
    save,
    removeSurplus: () => saved.removeSurplus(),
    async remove() {
      saved.close();
      await rm(path, { force: true });
    },
  };
}

/** The library's own log contains ids of members and devices, and is very long. */
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
