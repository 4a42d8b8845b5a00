/** What the tests of a file share is set up before the first of them. */

/**
 * Does something before the first test of the file. Where it fails, each test fails with the reason,
 * and all are counted; after a `beforeAll` that fails, Deno runs none.
 */
export function beforeTests(work: () => void | Promise<void>): void {
  const failures: unknown[] = [];
  Deno.test.beforeAll(async () => {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  });
  Deno.test.beforeEach(() => {
    if (failures.length > 0) throw failures[0];
  });
}
