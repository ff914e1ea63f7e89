import { disableTypes, imageSize, types } from "image-size";
import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";
import { isTransient } from "../client/matrix-error";
import { createPublicFetch, type PublicFetchOptions } from "../client/public-fetch";

/** An image on the homeserver. */
export interface Picture {
  readonly mxc: string;
  /** E.g. `png`. */
  readonly extension: string;
  readonly mimetype: string;
  /** Bytes. */
  readonly size: number;
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
const PICTURES_KEPT = 500;
/** Maximum number of images that are kept in memory at the same time. */
const PICTURES_AT_ONCE = 4;

export interface PicturesParts extends Pick<PublicFetchOptions, "allow" | "resolve"> {
  readonly api: Pick<MatrixApi, "upload">;
  /** Called with the reason why an image is not shown. */
  onFailure(reason: string): void;
}

export type Pictures = ReturnType<typeof createPictures>;

export function createPictures({ api, onFailure, ...addresses }: PicturesParts) {
  const known = new LRUCache<string, Picture>({ max: PICTURES_KEPT });
  const accept = TYPE_LIST.join(", ");
  const get = createPublicFetch({ ...addresses, accept, bytesMax: BYTES_MAX, withinMs: FETCH_WITHIN_MS });
  const inTurn = createTurns(PICTURES_AT_ONCE);

  async function fetchPicture(url: string, signal: AbortSignal) {
    const { bytes, type } = await get(url, signal);
    if (!TYPE_LIST.includes(type)) throw new Error("the answer is not an image");
    return { bytes, ...measure(bytes) };
  }

  async function fetchAndUpload(url: string, signal: AbortSignal): Promise<Picture | undefined> {
    const failed = (error: unknown): undefined => {
      signal.throwIfAborted();
      onFailure((error as Error).message);
      return undefined;
    };
    const fetched = await fetchPicture(url, signal).catch(failed);
    if (fetched === undefined) return undefined;
    const { bytes, extension, mimetype, measured } = fetched;
    try {
      const mxc = await api.upload(bytes, mimetype, `picture.${extension}`, signal);
      const picture = { mxc, extension, mimetype, size: bytes.byteLength, measured };
      known.set(url, picture);
      return picture;
    } catch (error) {
      if (isTransient(error)) throw error;
      return failed(error);
    }
  }

  return {
    /**
     * Resolves to the uploaded image of a URL. A cached image is not uploaded again. Resolves to undefined if the image
     * cannot be fetched or the homeserver does not accept it. Rejects if the homeserver may accept the image later.
     */
    upload: async (url: string, signal: AbortSignal): Promise<Picture | undefined> =>
      known.get(url) ??
      // Another task may have uploaded the image while this task waited for its turn.
      inTurn(async () => known.get(url) ?? fetchAndUpload(url, signal)),
  };
}

/**
 * Returns the type and the size of an image, from its content. The answer's `Content-Type` is not sufficient: a server
 * can call any file an image. Throws if the content is not an image.
 */
function measure(bytes: Buffer): Omit<Picture, "mxc" | "size"> {
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

/** Returns the content of an `m.room.message` event that shows an image. */
export function toPictureContent({ mxc, extension, mimetype, size, measured }: Picture) {
  const body = `picture.${extension}`;
  return {
    msgtype: "m.image",
    body,
    filename: body,
    url: mxc,
    info: { mimetype, size, ...measured },
    "m.mentions": {},
  };
}
