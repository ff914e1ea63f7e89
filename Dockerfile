# One image for all processes; docker-compose.yml sets which process each container runs.
ARG NODE_IMAGE=node:24-bookworm-slim

# The build runs on the platform of the builder, because its output is the same for every platform. Builders without
# BuildKit do not set BUILDPLATFORM; for them, "linux" means their own platform.
FROM --platform=${BUILDPLATFORM:-linux} ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
# The kit is an npm workspace: npm ci builds the kit, which uses the files in contract/.
COPY contract contract
COPY kit kit
RUN npm ci
COPY scripts scripts
COPY proto proto
COPY runtime runtime
COPY core core
COPY edge edge
COPY cli cli
COPY deploy/local deploy/local
COPY deploy/compose deploy/compose
COPY demo demo
COPY dashboard dashboard
# The edge serves the guides.
COPY docs docs
COPY bridges/README.md bridges/README.md
COPY bridges/irc/README.md bridges/irc/README.md
COPY bridges/matrix/README.md bridges/matrix/README.md
COPY bridges/xmpp/README.md bridges/xmpp/README.md
# npm run build fails if VERSION is set but differs from the version in package.json.
ARG VERSION=unknown
ARG COMMIT=unknown
RUN VERSION=${VERSION} COMMIT=${COMMIT} npm run --silent build \
  && node scripts/prune-image.mjs .

FROM ${NODE_IMAGE}
# deploy/local/children.ts explains NODE_OPTIONS.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=64
WORKDIR /app
# A new volume inherits the owner of the folder at its mount point. Package managers are removed, because no program
# needs them and scanners report their vulnerabilities.
RUN for each in kept redis core edge game chat operator cli grafana backups; do mkdir -p "/secrets/$each"; done \
  && chown -R 1000:1000 /secrets \
  && rm -rf /usr/local/lib/node_modules /opt/yarn-* \
  && cd /usr/local/bin && rm -f npm npx corepack yarn yarnpkg pnpm pnpx
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="chat-bridge" \
  org.opencontainers.image.description="Runs games in chat tools through bridges: signed events in, signed events out." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${COMMIT}"
USER 1000:1000
ENTRYPOINT ["node"]
CMD ["dist/core/main.js"]
