/** The discovery record (product.md). */
export interface Discovery {
  pid: number;
  sock: string;
  port: number;
  token: string;
  version: string;
  protocol_version: number;
}
