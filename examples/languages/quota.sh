#!/usr/bin/env -S krm fn wrap -- sh -u
cat <<END
apiVersion: v1
kind: ResourceQuota
metadata:
  name: ${NAME}
spec:
  hard:
    pods: "${PODS}"
END
