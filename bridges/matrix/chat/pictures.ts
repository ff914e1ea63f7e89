import { setTimeout as sleep } from "node:timers/promises";
import { disableTypes, imageSize, types } from "image-size";
import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";
import type { EncryptedFile } from "../crypto/room-crypto";
import { createPublicFetch, type PublicFetchOptions } from "../client/public-fetch";

/** An image on the homeserver. */
export interface Picture {
  readonly mxc: string;
  /** E.g. `png`. */
  readonly extension: string;
  readonly mimetype: string;
  /** Bytes. */
  readonly size: number;
  /** The keys of an encrypted image; undefined for other images. */
  readonly keys: object | undefined;
  /** Pixels. */
  readonly measured: { readonly w: number; readonly h: number };
}

/** Types of images that clients show, by the extension. SVG is excluded, because SVG can contain scripts. */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
const TYPE_LIST = Object.values(TYPES);
disableTypes(types.filter((type) => TYPES[type] === undefined));
const BYTES_MAX = 8 * 1024 * 1024;
const FETCH_WITHIN_MS = 5_000;
/** Maximum wait for an image before its question, ms. Members have little time to answer. */
const SHOWN_WITHIN_MS = 3_000;
const PICTURES_KEPT = 500;
/** Maximum number of images that wait or are being uploaded. Further images are shown as links. */
const PENDING_MAX = 200;
/** Milliseconds for which an image that failed is not fetched again: each edit of its message needs the image. */
const FAILED_FOR_MS = 60_000;
/** Maximum number of images that are kept in memory at the same time. */
const PICTURES_AT_ONCE = 4;

export interface PicturesParts extends Pick<PublicFetchOptions, "allow" | "resolve"> {
  readonly api: Pick<MatrixApi, "upload">;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
  /** Encrypts the images of encrypted rooms; undefined if the bridge does not support encrypted rooms. */
  readonly encryptFile?: ((bytes: Buffer) => EncryptedFile) | undefined;
  /** Called with the reason why an image is not shown. */
  onFailure(reason: string): void;
}

/** The URL of an image, and whether the image is encrypted before the upload. */
interface Wanted {
  readonly url: string;
  readonly isEncrypted: boolean;
}

export type Pictures = ReturnType<typeof createPictures>;

export function createPictures({ api, encryptFile, signal, onFailure, ...addresses }: PicturesParts) {
  const known = new LRUCache<string, Picture>({ max: PICTURES_KEPT });
  const failed = new LRUCache<string, true>({ max: PICTURES_KEPT, ttl: FAILED_FOR_MS });
  /** The uploads that are waiting or in progress, by URL. */
  const pending = new Map<string, Promise<Picture | undefined>>();
  const accept = TYPE_LIST.join(", ");
  const get = createPublicFetch({ ...addresses, accept, bytesMax: BYTES_MAX, withinMs: FETCH_WITHIN_MS });
  const inTurn = createTurns(PICTURES_AT_ONCE);

  async function fetchPicture(url: string) {
    const { bytes, type } = await get(url, signal);
    if (!TYPE_LIST.includes(type)) throw new Error("the answer is not an image");
    return { bytes, ...measure(bytes) };
  }

  async function fetchAndUpload({ url, isEncrypted }: Wanted): Promise<Picture | undefined> {
    try {
      const { bytes, extension, mimetype, measured } = await fetchPicture(url);
      const sealed = isEncrypted ? encryptFile?.(bytes) : undefined;
      const mxc =
        sealed === undefined
          ? await api.upload(bytes, mimetype, `picture.${extension}`, signal)
          : await api.upload(sealed.bytes, "application/octet-stream", "picture", signal);
      const picture = { mxc, extension, mimetype, size: bytes.byteLength, keys: sealed?.keys, measured };
      known.set(keyOf({ url, isEncrypted }), picture);
      return picture;
    } catch (error) {
      if (signal.aborted) return undefined;
      failed.set(url, true);
      onFailure((error as Error).message);
      return undefined;
    }
  }

  /** Joins the upload in progress of the same image. */
  async function uploadOnce(wanted: Wanted): Promise<Picture | undefined> {
    const key = keyOf(wanted);
    const found = pending.get(key);
    if (found !== undefined) return found;
    if (pending.size >= PENDING_MAX) {
      onFailure(`${PENDING_MAX} images are already waiting`);
      return undefined;
    }
    const upload = inTurn(() => fetchAndUpload(wanted)).finally(() => pending.delete(key));
    pending.set(key, upload);
    return upload;
  }

  return {
    /**
     * Resolves to the uploaded image of a URL. A cached image is not uploaded again. Resolves to undefined if the image
     * cannot be fetched, if the homeserver does not accept it, or after 3 seconds. A slow upload continues: the next
     * edit of the message can show the image.
     */
    async upload(url: string, isEncrypted = false): Promise<Picture | undefined> {
      const found = known.get(keyOf({ url, isEncrypted }));
      if (found !== undefined || failed.has(url)) return found;
      const isOver = new AbortController();
      const limit = sleep(SHOWN_WITHIN_MS, undefined, { signal: isOver.signal });
      const picture = await Promise.race([uploadOnce({ url, isEncrypted }), limit.catch(() => undefined)]);
      isOver.abort();
      return picture;
    },
  };
}

const keyOf = ({ url, isEncrypted }: Wanted): string => `${isEncrypted ? "encrypted" : "plain"} ${url}`;

/**
 * Returns the type and the size of an image, from its content. The answer's `Content-Type` is not sufficient: a server
 * can call any file an image. Throws if the content is not an image.
 */
function measure(bytes: Buffer): Omit<Picture, "mxc" | "size" | "keys"> {
  let found;
  try {
    found = imageSize(bytes);
  } catch (error) {
    throw new Error("the answer is not an image", { cause: error });
  }
  const { type: extension = "", width, height } = found;
  return { extension, mimetype: TYPES[extension] ?? "", measured: { w: width, h: height } };
}

/** Returns a function that runs tasks, at most `most` at the same time. */
function createTurns(most: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
