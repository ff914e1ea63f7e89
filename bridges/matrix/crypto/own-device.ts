import type { CrossSigningKeyExport, OlmMachine } from "@matrix-org/matrix-sdk-crypto-wasm" with {
  "resolution-mode": "import",
};
import type { Logger } from "chat-bridge-runner";
import { fieldsOf, type Fields } from "../client/fields";
import type { MatrixApi } from "../client/matrix-api";
import { MatrixError } from "../client/matrix-error";
import type { KeyRequest, KeyRequests } from "./key-requests";
import type { CryptoLibrary } from "./load-library";

export interface OwnDeviceParts {
  readonly sdk: CryptoLibrary;
  readonly machine: OlmMachine;
  readonly api: Pick<MatrixApi, "postKeys">;
  readonly requests: KeyRequests;
  /** Resolves once the keys so far would survive a crash. */
  save(): Promise<void>;
  readonly log: Logger;
}

const OTHER_IDENTITY =
  "the account has an identity from another client, so members see a warning on the bridge's messages, and some " +
  "clients send it no keys: use an account that only the bridge uses";

/**
 * Publishes the keys of the bridge's device, and signs the device with the account's identity, so that clients show no
 * warning. Resolves to false if the bridge needs a new device. Either the homeserver has other keys for this device,
 * because the state folder was lost, or the homeserver has removed the device. A client shares a key only once with each
 * device, so clients would not repeat the keys that the homeserver removed.
 *
 * @param identity the account's identity, if another device of the bridge had it
 */
export async function publishOwnDevice(
  parts: OwnDeviceParts,
  identity: CrossSigningKeyExport | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { sdk, machine, api, requests } = parts;
  const [user, device] = [machine.userId.toString(), machine.deviceId.toString()];
  const found = await readPublished(api, user, device, signal);
  const published = fieldsOf(found.device["keys"])[`ed25519:${device}`];
  const waiting = (await machine.outgoingRequests()) as readonly KeyRequest[];
  const isNew = waiting.some(({ type, body }) => {
    return type === sdk.RequestType.KeysUpload && "device_keys" in JSON.parse(body);
  });
  const ours = machine.identityKeys.ed25519.toBase64();
  if (published === undefined ? !isNew : published !== ours) return false;
  await requests.sendWaiting(signal);
  if (identity !== undefined) {
    const { masterKey, self_signing_key: selfSigning, userSigningKey } = identity;
    await machine.importCrossSigningKeys(masterKey, selfSigning, userSigningKey);
  }
  await signDevice(parts, found, signal);
  return true;
}

interface Published {
  readonly device: Fields;
  readonly master: Fields;
}

async function readPublished(
  api: Pick<MatrixApi, "postKeys">,
  user: string,
  device: string,
  signal: AbortSignal,
): Promise<Published> {
  const answer = fieldsOf(await api.postKeys("query", { device_keys: { [user]: [] } }, signal));
  const devices = fieldsOf(fieldsOf(answer["device_keys"])[user]);
  return { device: fieldsOf(devices[device]), master: fieldsOf(fieldsOf(answer["master_keys"])[user]) };
}

/** Creates the identity of the account if there is none, and signs the device with the identity. */
async function signDevice(
  parts: OwnDeviceParts,
  { device, master }: Published,
  signal: AbortSignal,
): Promise<void> {
  const { sdk, machine, api, requests, save, log } = parts;
  const status = await machine.crossSigningStatus();
  const hasIdentity = status.hasMaster && status.hasSelfSigning;
  const isPublished = master["keys"] !== undefined;
  if (!hasIdentity && isPublished) return log.warn(OTHER_IDENTITY);
  const created = await machine.bootstrapCrossSigning(!hasIdentity);
  const identity = JSON.parse(created.uploadSigningKeysRequest.body) as { master_key: Fields };
  const [ours = ""] = Object.keys(fieldsOf(identity.master_key["keys"]));
  if (isPublished && !(ours in fieldsOf(master["keys"]))) return log.warn(OTHER_IDENTITY);
  await save();
  try {
    if (!isPublished) await api.postKeys("device_signing/upload", identity, signal);
    const user = machine.userId.toString();
    const signatures = Object.keys(fieldsOf(fieldsOf(device["signatures"])[user]));
    // The device signs its own keys, too.
    if (signatures.length > 1) return;
    const { id, body } = created.uploadSignaturesRequest;
    await requests.send({ id, body, type: sdk.RequestType.SignatureUpload }, signal);
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error;
    // An older homeserver asks for the password before it accepts the first identity.
    log.warn(
      { problem: error.message },
      "cannot sign the bridge's device: members see a warning on its messages",
    );
  }
}
