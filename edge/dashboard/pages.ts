import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorAnswer } from "../public/error-body";
import { sendError } from "../public/public-listener";
import { openApiDocument } from "../openapi/document";
import { REFERENCE_POLICY } from "./page-guard";
import { referencePage } from "./reference-page";

/** Directory of the built pages, which `npm run build` puts beside the compiled edge. */
const PAGES = join(__dirname, "../../dashboard");
/** The file name of the built page for each path. */
const PAGE_AT: Readonly<Record<string, string>> = {
  "/": "index.html",
  "/connect": "index.html",
  "/workspaces/:id": "index.html",
  "/workspaces/:id/settings": "index.html",
  "/workspaces/:id/events/:eventId": "index.html",
  "/guides": "guides/index.html",
  "/guides/": "guides/index.html",
  // Browsers request this path for a page without a link to an icon, e.g. for the JSON of `/openapi.json`.
  "/favicon.ico": "favicon.svg",
};
const APP = join(PAGES, "index.html");
export const NOTHING_HERE: ErrorAnswer = { status: 404, message: "Not found." };

/** Serves the built pages and their files. `publicUrl` is the base URL at which bridges reach the service. */
export async function addPages(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(fastifyStatic, {
    root: PAGES,
    index: false,
    // The file name of an asset contains a hash of the content, so browsers can cache the asset for a year.
    setHeaders: (reply, path) => {
      const kept = path.startsWith(join(PAGES, "assets"));
      void reply.header("cache-control", kept ? "public, max-age=31536000, immutable" : "no-cache");
    },
    cacheControl: false,
    preCompressed: true,
  });
  for (const [path, page] of Object.entries(PAGE_AT)) {
    app.get(path, (_request, reply) => reply.sendFile(page));
  }
  const reference = referencePage(readFileSync(join(PAGES, "docs.html"), "utf8"), openApiDocument(publicUrl));
  app.get("/docs", (_request, reply) =>
    reply
      .headers({ "content-security-policy": REFERENCE_POLICY, "cache-control": "no-cache" })
      .type("text/html; charset=utf-8")
      .send(reference),
  );
  app.get<{ Params: { name: string } }>("/guides/:name([a-z-]+)", ({ params }, reply) =>
    reply.sendFile(`guides/${params.name}.html`),
  );
}

/** The release of the pages, as the built page of the app names it. */
interface PageRelease {
  /** The path of the script. It contains a hash, so releases with different scripts have different paths. */
  readonly script: string;
  /** Time of the build in milliseconds. */
  readonly builtAt: string;
}

export function findRelease(): PageRelease {
  const page = readFileSync(APP, "utf8");
  const [, script = ""] = /<script type="module"[^>]* src="([^"]+)"/.exec(page) ?? [];
  const [, builtAt = ""] = /<meta name="built" content="(\d+)"/.exec(page) ?? [];
  return { script, builtAt };
}

/**
 * Returns a handler that answers 404. A browser that loads a page gets the dashboard, which says that the page does not
 * exist; all other clients get an error body.
 *
 * @throws Error when the pages are not built
 */
export function createNotFound() {
  if (!existsSync(APP)) {
    throw new Error("the dashboard is not built: run npm run build, or set DASHBOARD_LISTEN=off");
  }
  const page = readFileSync(APP, "utf8");
  return ({ method, url, headers }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const isPage = ["GET", "HEAD"].includes(method) && headers.accept?.includes("text/html") === true;
    if (!isPage || url.startsWith("/api/")) return sendError(reply, NOTHING_HERE);
    return reply.code(404).type("text/html; charset=utf-8").header("cache-control", "no-cache").send(page);
  };
}
