/** What tasks/list takes: a page of the inbox, or a search. */
import * as z from 'zod'
import { INBOX_PAGE_COUNT_MAX, INBOX_WAIT_S_MAX, SEARCH_PAGE_COUNT_MAX } from '../../protocol/index.ts'
import type { ListThreadsParams } from '../node/api.ts'
import { check, invalidParams } from './refusals.ts'
import * as shapes from './shapes.ts'

const shape: z.ZodType<ListThreadsParams> = z.strictObject({
  status: z.array(shapes.status).optional(),
  side: shapes.side.optional(),
  cursor: shapes.cursor.optional(),
  limit: z.int().min(1).max(INBOX_PAGE_COUNT_MAX).optional(),
  wait_s: z.number().min(0).max(INBOX_WAIT_S_MAX).optional(),
  after_removal: z.boolean().optional(),
  query: shapes.text.optional(),
  with: shapes.id.optional(),
  since: shapes.id.optional(),
  until: shapes.id.optional(),
})

/** Throws ApiError invalid_params. */
export function parseList(given: unknown): ListThreadsParams {
  const params = check(shape, given)
  const { query, with: other, since, until, wait_s, limit = 0 } = params
  const isSearch = [query, other, since, until].some((one) => one !== undefined)
  if (isSearch && wait_s !== undefined)
    throw invalidParams([{ field: 'wait_s', rule: 'goes with none of query, with, since and until' }])
  if (isSearch && limit > SEARCH_PAGE_COUNT_MAX)
    throw invalidParams([{ field: 'limit', rule: `must be at most ${SEARCH_PAGE_COUNT_MAX} in a search` }])
  return params
}
