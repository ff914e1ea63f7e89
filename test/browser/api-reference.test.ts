import { openApiDocument } from "../../edge/openapi/document";
import { testBrowser } from "../harness/browser";
import { sharedService } from "../harness/shared-service";

const { url, dashboardUrl } = sharedService();
const browser = testBrowser();
const document = openApiDocument(url);

test("the API reference shows every operation, event type, status and field, and works with the keyboard", async () => {
  const { page, context } = await browser.visit("about:blank");
  const hosts = new Set<string>();
  context.on("request", (request) => hosts.add(new URL(request.url()).origin));
  await page.goto(`${dashboardUrl}/docs`);
  await page.getByRole("heading", { name: "Chat bridge 1.0.0-beta" }).waitFor();
  expect(await page.title()).toBe("Chat bridge 1.0.0-beta: reference");
  await page.getByText(`Base URL: ${url}`).waitFor();
  for (const [path, methods] of Object.entries({ ...document.paths, ...document.webhooks })) {
    const section = page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) });
    for (const { summary, responses } of Object.values(methods)) {
      const control = section.getByRole("button", { name: summary });
      await control.press("Enter");
      const statuses = section.locator("td.response-col_status:not(.col_header)");
      await statuses.first().waitFor();
      expect(await statuses.allInnerTexts()).toEqual(Object.keys(responses));
      await control.press("Enter");
    }
  }
  const schemas = page.locator(".models article[data-json-schema-level='0']");
  for (const [index, [name, { properties = {} }]] of Object.entries(document.components.schemas).entries()) {
    const schema = schemas.nth(index);
    await schema.getByRole("button", { name, exact: true }).press("Enter");
    for (const field of Object.keys(properties)) {
      await schema.getByText(field, { exact: true }).first().waitFor();
    }
  }
  expect([...hosts]).toEqual([dashboardUrl]);
});

test("without JavaScript, the API reference links to openapi.json", async () => {
  const { page } = await browser.visit(`${dashboardUrl}/docs`, { javaScriptEnabled: false });
  await page.getByRole("link", { name: "openapi.json" }).click();
  expect(page.url()).toBe(`${dashboardUrl}/openapi.json`);
});
