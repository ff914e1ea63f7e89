import { loadCrypto } from "../../../crypto/load-library";

jest.mock("fake-indexeddb", () => {
  throw new Error("Cannot find module 'fake-indexeddb'");
});

test("a missing package is reported with what to do", async () => {
  await expect(loadCrypto()).rejects.toThrow(
    "cannot load the encryption (Cannot find module 'fake-indexeddb'): install the optional packages, or set MATRIX_ENCRYPTION=off",
  );
});
