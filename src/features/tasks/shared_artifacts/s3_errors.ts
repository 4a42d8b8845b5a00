/** Explains the errors of S3 and of servers that speak its protocol. */
import { StoreFault } from "./objects.ts";

const PASSING_STATUS = new Set([408, 409, 429, 500, 502, 503, 504]);
const PASSING_CODE = /^(?:SlowDown|RequestTimeout|InternalError|ServiceUnavailable|Throttling)/;
/** MinIO, Ceph, Garage and B2 use different statuses and codes. */
const FULL = /quota|storage.?full|insufficient.?storage|cap exceeded/i;
/** What to do, by code. */
const FIXES: Record<string, string> = {
  NoSuchBucket: "create the bucket, or correct the name in the URL",
  InvalidAccessKeyId: "check AWS_ACCESS_KEY_ID and the endpoint",
  SignatureDoesNotMatch: "check AWS_SECRET_ACCESS_KEY, and that no proxy changes requests",
  ExpiredToken: "renew AWS_SESSION_TOKEN and its keys, and restart svc",
  InvalidToken: "renew AWS_SESSION_TOKEN and its keys, and restart svc",
};

class S3Fault extends StoreFault {
  readonly code: string | undefined;

  constructor(code: string | undefined, ...rest: ConstructorParameters<typeof StoreFault>) {
    super(...rest);
    this.code = code;
  }
}

/** Explains an answer that is an error. @param region the one that the request was signed for */
export function faultOf({ status, headers }: Response, xml: string, region: string): S3Fault {
  const code = textOf(xml, "Code");
  const said = [status, code].filter(Boolean).join(" ");
  const message = textOf(xml, "Message");
  const why = `it answered ${said}${message ? ` (${message.replace(/[.\s]+$/, "")})` : ""}`;
  const home = headers.get("x-amz-bucket-region") ?? textOf(xml, "Region");
  const fault = (fix: string, passing = false) => new S3Fault(code, why, fix, { passing });
  if (status === 507 || FULL.test(`${code} ${message}`)) {
    return fault("free space there or raise its quota, then run the task again");
  }
  if (PASSING_STATUS.has(status) || PASSING_CODE.test(code ?? "")) {
    return fault("wait until the store is well again", true);
  }
  if (home && home !== region) {
    return fault(`set AWS_REGION=${home}, or ?region=${home} in the URL, instead of ${region}`);
  }
  if (code === "RequestTimeTooSkewed") {
    const off_s = Math.round((Date.now() - Date.parse(headers.get("date") ?? "")) / 1000);
    const off = Number.isNaN(off_s)
      ? ""
      : `; it is ${Math.abs(off_s)} s ${off_s < 0 ? "slow" : "fast"}`;
    return fault(`set this machine's clock${off}`);
  }
  if (code !== undefined && Object.hasOwn(FIXES, code)) return fault(FIXES[code]);
  if (status === 401 || status === 403) {
    const rights = "s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket";
    return fault(`allow these credentials ${rights}`);
  }
  return fault("check the URL, its endpoint and its path_style");
}

/** Returns the text of the first such tag. */
export function textOf(xml: string, tag: string): string | undefined {
  const text = xml.match(new RegExp(`<${tag}>([^<]*)</${tag}>`))?.[1];
  return text?.replace(/&(?:amp|lt|gt|quot|apos|#(\d+)|#x([0-9a-f]+));/gi, (entity, dec, hex) => {
    if (dec ?? hex) return String.fromCodePoint(dec ? Number(dec) : parseInt(hex, 16));
    return { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' }[entity] ?? "'";
  });
}
