/** Amounts of money as text. It imports nothing: the web app uses it too. */

/** An amount in US dollars; what is less than a cent keeps its figures. */
export function usd(amount: number): string {
  if (amount === 0) return "$0.00";
  return amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
}

/** What something cost, and whether calls without a known price are left out of it. */
export interface Spent {
  cost_usd: number;
  unpriced?: true;
}

/** What something cost, as far as it is known. */
export function costText({ cost_usd, unpriced }: Spent): string {
  if (unpriced === undefined) return usd(cost_usd);
  return cost_usd === 0 ? "price unknown" : `over ${usd(cost_usd)}`;
}
