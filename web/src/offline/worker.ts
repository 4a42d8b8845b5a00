/**
 * The service worker. While nothing answers at the daemon's address, it shows a page that says so. It
 * keeps nothing else, and answers nothing that the daemon can answer. What the page keeps is not its.
 */

/** What the build puts in: the page without the daemon, and the files that it is made of. */
const PAGE = "%offline%";
const FILES = "%offline_files%".split(" ");
const KIND = "svc-offline ";
const CACHE = `${KIND}${[PAGE, ...FILES].join(" ")}`;

/** What a service worker has that a page has not. */
interface Worker {
  addEventListener(type: "install" | "activate", listener: (event: WorkerEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
  skipWaiting(): Promise<void>;
  registration: ServiceWorkerRegistration;
  clients: { claim(): Promise<void> };
}

interface WorkerEvent {
  waitUntil(promise: Promise<unknown>): void;
}

interface RequestEvent extends WorkerEvent {
  request: Request;
  /** The browser's own request of a page, begun before this worker runs. */
  preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}

const worker = self as unknown as Worker;

worker.addEventListener("install", (event) => {
  event.waitUntil(keep());
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  const { origin, pathname } = new URL(request.url);
  if (request.mode === "navigate") event.respondWith(fetchOr(event, PAGE));
  else if (origin === location.origin && FILES.includes(pathname)) {
    event.respondWith(fetchOr(event, pathname));
  }
});

async function keep(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll([PAGE, ...FILES]);
  await worker.skipWaiting();
}

async function forgetOthers(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(KIND) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.registration.navigationPreload?.enable();
  await worker.clients.claim();
}

/** Asks the daemon; where it cannot be reached, takes what was kept. */
async function fetchOr(
  { request, preloadResponse }: RequestEvent,
  kept: string,
): Promise<Response> {
  try {
    return await preloadResponse ?? await fetch(request);
  } catch (error) {
    const cache = await caches.open(CACHE);
    const response = await cache.match(kept);
    if (response === undefined) throw error;
    return response;
  }
}
