package krm
