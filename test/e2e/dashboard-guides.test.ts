import { send } from "../harness/bridge";
import { sharedService } from "../harness/shared-service";

const { dashboardUrl } = sharedService();
const pages = new Map<string, string>();

beforeAll(async () => {
  const index = await text("/guides");
  for (const [, path = ""] of index.matchAll(/href="(\/guides\/[a-z-]+)"/g))
    pages.set(path, await text(path));
});

async function text(path: string): Promise<string> {
  const { status, body } = await send(dashboardUrl, path);
  expect([path, status]).toEqual([path, 200]);
  return body.toString();
}

/** Returns all texts on a page that the first group of a pattern matches. */
const all = (form: RegExp, page: string) => [...page.matchAll(form)].map(([, found = ""]) => found);

test("no guide has a dead link, a missing picture or a duplicate id", async () => {
  expect(pages.size).toBeGreaterThan(30);
  const dead: string[] = [];
  const pictures = new Set<string>();
  for (const [path, page] of pages) {
    const ids = all(/ id="([^"]*)"/g, page);
    if (new Set(ids).size !== ids.length) dead.push(`${path} has an id twice`);
    for (const link of all(/href="([^"]*)"/g, page)) {
      const [target = "", anchor] = link.split("#");
      if (target !== "" && !target.startsWith("/guides/")) continue;
      if (target === "/guides/guides.css") continue;
      const found = target === "" ? page : pages.get(target);
      if (found === undefined || (anchor !== undefined && !found.includes(` id="${anchor}"`)))
        dead.push(`${path}: ${link}`);
    }
    for (const picture of all(/<img src="([^"]*)"/g, page)) pictures.add(picture);
  }
  expect(dead).toEqual([]);
  expect(pictures.size).toBeGreaterThan(1);
  for (const picture of pictures) {
    const { status, headers } = await send(dashboardUrl, picture);
    expect([picture, status, headers["content-type"]]).toEqual([picture, 200, "image/png"]);
  }
});

test("every guide links to the dashboard and to all guides, and lists its own headings", () => {
  const paths = [...pages.keys()];
  for (const [path, page] of pages) {
    const links = all(/href="([^"]*)"/g, page);
    expect(links).toEqual(expect.arrayContaining(["/", "/guides", "/docs", ...paths]));
    const headings = all(/<h[23] id="([^"]*)"/g, page).map((id) => `#${id}`);
    const contents = new Set(headings.length < 3 ? [] : headings);
    const listed = all(/<a class="level-\d" href="([^"]*)"/g, page);
    expect([path, new Set(listed)]).toEqual([path, contents]);
  }
});

test("no guide shows an HTML comment or tag of its source as text, and none has an inline script or style", () => {
  for (const [path, page] of pages) {
    const text = page.replaceAll(/<code>.*?<\/code>/gs, "");
    expect([path, all(/(&lt;(?:!--|\/?[a-z]+\b).*)/g, text)]).toEqual([path, []]);
    expect([path, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+="/.test(page)]).toEqual([path, false]);
  }
});
