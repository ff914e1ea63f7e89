import { disableTypes, imageSize, types } from "image-size";
import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";
import { isTransient } from "../client/matrix-error";
import { readBounded } from "../client/read-bounded";

/** An image on the homeserver. */
export interface Picture {
  readonly mxc: string;
  readonly mimetype: string;
  /** Bytes. */
  readonly size: number;
  /** Pixels; undefined if the image is damaged. */
  readonly measured: { readonly w: number; readonly h: number } | undefined;
}

/** Types of images that clients show. SVG is excluded, because SVG can contain scripts. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const EXTENSION_LIST = new Set(Object.values(EXTENSIONS));
disableTypes(types.filter((type) => !EXTENSION_LIST.has(type)));
const BYTES_MAX = 8 * 1024 * 1024;
const FETCH_WITHIN_MS = 5_000;
const PICTURES_KEPT = 500;

export interface Pictures {
  /**
   * Resolves to the uploaded image of a URL. A cached image is not uploaded again. Resolves to undefined if the image
   * cannot be fetched or the homeserver does not accept it. Rejects if the homeserver may accept the image later.
   */
  upload(url: string, signal: AbortSignal): Promise<Picture | undefined>;
}

/** @param onFailure called with the reason why an image is not shown */
export function createPictures(
  api: Pick<MatrixApi, "upload">,
  onFailure: (reason: string) => void,
): Pictures {
  const known = new LRUCache<string, Picture>({ max: PICTURES_KEPT });

  async function fetchPicture(
    url: string,
    signal: AbortSignal,
  ): Promise<{ bytes: Buffer; mimetype: string }> {
    if (!/^https?:\/\//i.test(url)) throw new Error("the URL is not http or https");
    const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_WITHIN_MS)]);
    const response = await fetch(url, {
      signal: limit,
      headers: { accept: Object.keys(EXTENSIONS).join(", ") },
    });
    const mimetype = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
    if (!response.ok || EXTENSIONS[mimetype] === undefined) {
      await response.body?.cancel();
      throw new Error(response.ok ? "the answer is not an image" : `the answer is ${response.status}`);
    }
    return { bytes: await readBounded(response, BYTES_MAX), mimetype };
  }

  return {
    async upload(url, signal) {
      const found = known.get(url);
      if (found !== undefined) return found;
      const failed = (error: unknown): undefined => {
        signal.throwIfAborted();
        onFailure((error as Error).message);
        return undefined;
      };
      const fetched = await fetchPicture(url, signal).catch(failed);
      if (fetched === undefined) return undefined;
      const { bytes, mimetype } = fetched;
      try {
        const mxc = await api.upload(bytes, mimetype, `picture.${EXTENSIONS[mimetype]}`, signal);
        const picture = { mxc, mimetype, size: bytes.byteLength, measured: measure(bytes) };
        known.set(url, picture);
        return picture;
      } catch (error) {
        if (isTransient(error)) throw error;
        return failed(error);
      }
    },
  };
}

/** Returns the width and height of an image. Some clients do not show an image without its size. */
function measure(bytes: Buffer): Picture["measured"] {
  try {
    const { width, height } = imageSize(bytes);
    return { w: width, h: height };
  } catch {
    return undefined;
  }
}

/** Returns the content of an `m.room.message` event that shows an image. */
export function toPictureContent({ mxc, mimetype, size, measured }: Picture) {
  const body = `picture.${EXTENSIONS[mimetype] ?? "png"}`;
  return {
    msgtype: "m.image",
    body,
    filename: body,
    url: mxc,
    info: { mimetype, size, ...measured },
    "m.mentions": {},
  };
}
