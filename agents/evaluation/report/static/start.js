startCurves();
startEpisodes();
